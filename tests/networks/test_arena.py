# SPDX-License-Identifier: Apache-2.0
"""The arena of each network of examples/ is within a tenth of the most that lives at once: variants of constant sizes,
and the generic ones at sizes from the lower to the upper ends of their dims.

  test_arena.py CACHE NAME=WEIGHTS…        (weights of the small configurations)
"""
import re
import sys
import tempfile
from pathlib import Path

from tap import done, note, ok
from tensor_compile.compile import assemble, recording
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.options import Options
from tensor_compile.loops import plan as planning

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
SPECIAL = {"resnet50": (("batch", (1, 8)),), "mobilenet_v2": (("batch", (1, 8)),), "gpt2": (("length", (16,)),),
           "unet": (("height", (32,)), ("width", (48,)))}
defines = {name: re.findall(r"\S+=\S+", sizes) for name, _, sizes in
           (line.split(" ", 2) for line in (HERE / "small.txt").read_text(encoding="utf-8").splitlines())}
with tempfile.TemporaryDirectory() as folder:
    for argument in sys.argv[2:]:
        name, weights = argument.split("=", 1)
        macros = [f"-D{d}" for d in defines.get(name, ())]
        options = Options(str(EXAMPLES / name / "model.c"), name, f"{folder}/m.o", f"{folder}/m.h", sys.argv[1],
                          specialize=SPECIAL.get(name, ()), jobs=1, preprocessor=(*macros, f'-DWEIGHTS="{weights}"'))
        _, host, target, _ = assemble.toolchains(options)
        captured = recording.capture(options, host, Cache(Path(options.cache)))
        for function in assemble.compile_graph(options, captured.text, target).plan.functions:
            for variant in function.built:
                program, worst = variant.program, 0.0
                for part in range(9):
                    dims = {s: (s.lo + (s.hi - s.lo) * part // 8) // s.divisor * s.divisor for s in program.dims}
                    live = planning.live_bytes(program, dims)
                    worst = max(worst, planning.arena_bytes(program, dims) / max(live, 1))
                ok(worst <= 1.1, f"{function.name} {variant.name}: within a tenth of what lives at once")
                note(f"{worst:.3f}")
done()
