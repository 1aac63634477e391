# SPDX-License-Identifier: Apache-2.0
"""Every case on every instruction set that runs here, for teams of 1, 2 and 5, between guard zones.

  test_nests.py [--sanitize [--all]]

--sanitize: under the address and undefined-behaviour sanitizers, every sixteenth case or --all of them."""
import sys

from cases import all_cases
from harness import run_all
from tap import done, equal
from tensor_compile.emit.kernels import emit_kernel

for case in all_cases():
    if case.name.startswith("siblings"):
        equal(emit_kernel(case.kernel, "scalar").text.count("p0["), 1, f"{case.name}: one load of an element")
sanitize = "--sanitize" in sys.argv
run_all(all_cases()[:: 16 if sanitize and "--all" not in sys.argv else 1], sanitize)
done()
