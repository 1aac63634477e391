# SPDX-License-Identifier: Apache-2.0
"""Random graphs (tests/passes/random_graph.py) through the loop passes, fused and not, against a direct evaluation."""
import os
import subprocess
import sys

from harness import TARGET, TINY, compare
from tap import done, equal
from tensor_compile.graph.text import parse_module

PASSES = os.path.join(os.environ["TC_SOURCE_ROOT"], "tests", "passes")
for seed in range(24):
    made = subprocess.run([sys.executable, os.path.join(PASSES, "random_graph.py"), "40", str(seed)], check=True,
                          capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(
                              [PASSES, os.environ["PYTHONPATH"]])})
    module = parse_module(made.stdout, f"seed {seed}")
    sizes = {"n": seed % 4 + 1, "m": seed % 3 + 1}
    for how, fused, target in (("", True, TARGET), (", not fused", False, TARGET), (", in tiles", True, TINY)):
        try:
            difference, program, _ = compare(module, "random", sizes, seed=seed, extreme=True, fused=fused,
                                             backwards=fused, target=target)
        except Exception as error:
            difference = f"{type(error).__name__}: {error}"
        equal(difference, "", f"seed {seed}{how}")
done()
