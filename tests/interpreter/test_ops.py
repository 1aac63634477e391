# SPDX-License-Identifier: Apache-2.0
"""Every primitive against PyTorch's results in double (make_ops.py), in f32 and in f64."""
from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import st
from tap import done, note, ok

HERE = Path(__file__).resolve().parent


def close(got: float, want: float, scale: float, tolerance: float) -> bool:
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if math.isinf(want) or want == got:
        return want == got
    if math.isinf(got):  # double has no overflow where f32 does
        return abs(want) > 3.4e38 and (got > 0) == (want > 0)
    return abs(got - want) <= tolerance * max(abs(want), scale) + 1e-44


def main(interpret: str) -> None:
    wants = st.read(HERE / "ops.want.safetensors")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.safetensors"
        for name, (_, shape, want) in sorted(wants.items()):
            finite = [abs(v) for v in want if not isinstance(v, bool) and math.isfinite(v)]
            # sums of many terms: an error relative to their usual size
            scale = max(finite) if finite and max(finite) < 1e6 and name.startswith(("dot", "conv", "sum")) else 0.0
            for mode, tolerance in (([], 1e-13 if name.endswith("_f64") else 2e-6), (["--f64"], 1e-13)):
                run = subprocess.run([interpret, str(HERE / "ops.tcg"), "--function", name, "--inputs",
                                      str(HERE / "ops.in.safetensors"), "--out", str(out), *mode],
                                     capture_output=True, text=True, check=False)
                if run.returncode:
                    ok(False, f"{name} {' '.join(mode)}")
                    note(run.stderr)
                    continue
                _, got_shape, got = st.read(out)[name]
                bad = [i for i, (a, b) in enumerate(zip(got, want)) if not close(a, b, scale, tolerance)]
                if not ok(got_shape == shape and len(got) == len(want) and not bad, f"{name} {' '.join(mode)}"):
                    note(f"shape {got_shape}, want {shape}")
                    note("\n".join(f"[{i}] {got[i]!r}, want {want[i]!r}" for i in bad[:5]))
    done()


main(sys.argv[1])
