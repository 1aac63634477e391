# SPDX-License-Identifier: Apache-2.0
"""Every case on two of the instruction sets that run here, compiled with -O1, or on --all of them with -O2, for teams
of 1, 2 and 5, between guard zones.

  test_nests.py [--sanitize] [--all]

--sanitize: under the address and undefined-behaviour sanitizers, every sixteenth case or --all of them, everywhere."""
import sys

from cases import all_cases
from harness import run_all
from tap import done, equal
from tensor_compile.emit.kernels import emit_kernel

for case in all_cases():
    if case.name.startswith("siblings"):
        equal(emit_kernel(case.kernel, "scalar").text.count("p0["), 1, f"{case.name}: one load of an element")
for case in all_cases():
    if " terms by " in case.name:
        shifted = "tcv_shifted_f32" in emit_kernel(case.kernel, "avx512").text
        expected = not any(part in case.name for part in ("by 2", "7 terms", "of 12,", "of 64,"))
        equal(shifted, expected, f"{case.name}: vectors are put together")
    if case.name.endswith(", in a tile"):
        equal("item + 1 < end" in emit_kernel(case.kernel, "avx512").text, True, f"{case.name}: maxima are found ahead")
sanitize, everything = "--sanitize" in sys.argv, "--all" in sys.argv
run_all(all_cases()[:: 16 if sanitize and not everything else 1], sanitize, everywhere=sanitize or everything,
        optimise="-O2" if everything and not sanitize else "-O1")
done()
