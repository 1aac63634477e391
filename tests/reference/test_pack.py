# SPDX-License-Identifier: Apache-2.0
"""`pack`: new weights for an object that stays as it is give the bits of a build that embeds them; wrong ones are
refused by name, and a file that is damaged or another model's is a status."""
import math
import subprocess
import tempfile
from pathlib import Path

import models
from tap import done, equal, note, ok

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 3, 6, 6);
    tc_weights(g, "model.safetensors");
    x = tc_conv2d(x, tc_weight(g, "conv.weight"), tc_weight(g, "conv.bias"), .padding = {1, 1});
    x = tc_batch_norm(x, tc_weight(g, "norm.mean"), tc_weight(g, "norm.var"), tc_weight(g, "norm.weight"),
                      tc_weight(g, "norm.bias"));
    x = tc_relu(x);
    tc_output(g, "y", tc_reshape(tc_linear(tc_reshape(x, batch, 144), tc_weight(g, "fc.weight"), tc_weight(g, "fc.bias")),
                                 batch, 4, 5, 7));
}
"""
SHAPES = {"conv.weight": (4, 3, 3, 3), "conv.bias": (4,), "fc.weight": (140, 144), "fc.bias": (140,)} \
    | {f"norm.{part}": (4,) for part in ("weight", "bias", "mean", "var")}
ISA = ("--isa", "x86_64,avx2") if models.X86 else ()
SPECIALIZED = ("--specialize", "batch=2")
RUNTIME = models.ROOT / "runtime"


def weights(seed: int) -> dict:
    found = models.seeded(SHAPES, seed)
    found["norm.var"] = ((4,), [abs(v) + 0.5 for v in found["norm.var"][1]])
    return found


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    for name, seed in (("model", 1), ("new", 2)):
        models.safetensors(folder / f"{name}.safetensors", weights(seed))
    (folder / "model.c").write_text(MODEL, encoding="utf-8")
    other = folder / "other"
    other.mkdir()
    (other / "model.c").write_text(MODEL, encoding="utf-8")
    models.safetensors(other / "model.safetensors", weights(2))

    def tool(*words: str) -> subprocess.CompletedProcess:
        return models.tool(folder, *words, *ISA, *SPECIALIZED)

    def program(build: str, *flags: str) -> Path:
        out = folder / build / "program"
        sources = [*sorted((RUNTIME / "core").glob("*.c")),
                   *(RUNTIME / "hosted" / f"{n}.c" for n in ("file", "sha256"))]
        subprocess.run(["cc", "-std=c11", "-O1", "-D_GNU_SOURCE", *flags, f"-I{folder / build}",
                        f"-I{RUNTIME / 'include'}", str(models.HERE / "open.c"), *map(str, sources),
                        str(folder / build / "model.o"), "-o", str(out)], check=True)
        return out

    def call(build: str, file: str = "-", verify: int = 1) -> list[str]:
        return subprocess.run([str(folder / build / "program"), str(folder / file), str(verify)], capture_output=True,
                              text=True, check=True).stdout.splitlines()

    for model, build, kind in (("model.c", "embedded", "embed"), ("other/model.c", "new", "embed"),
                               ("model.c", "external", "external")):
        result = tool("build", model, "-o", build, "--weights", kind)
        equal((result.returncode, result.stderr), (0, ""), f"the model is built: {build}")
        program(build, *(("-DEXTERNAL",) if kind == "external" else ()))
    before = (folder / "external" / "model.o").read_bytes()
    right, new = call("embedded"), call("new")
    ok(right[0] == new[0] == "ok", "both run")
    ok(right != new and len(new) == 281, "other weights, other results")
    equal(call("external", "external/model.weights"), ["ok", *right], "external weights give the bits of embedded ones")

    result = tool("pack", "model.c", "--from", "new.safetensors", "--out", "new.weights")
    equal((result.returncode, result.stderr), (0, ""), "new weights are packed")
    equal(call("external", "new.weights")[1:], new, "new weights: the bits of a build that embeds them")
    equal((folder / "external" / "model.o").read_bytes(), before, "the object stays as it is")
    result = tool("pack", "model.c", "--out", "own.weights")
    equal((folder / "own.weights").read_bytes(), (folder / "external" / "model.weights").read_bytes(),
          "without --from, the model's own weights")
    result = models.tool(folder, "pack", "model.c", *ISA, *SPECIALIZED, "--target", "reference", "--out",
                         "plain.weights")
    ok(result.returncode == 0 and "weights" in call("external", "plain.weights")[0],
       "weights of another layout are refused by the program")

    data = bytearray((folder / "new.weights").read_bytes())
    for name, at, verify, good in (("payload", 500, 1, False), ("payload", 500, 0, True), ("header", 20, 0, False),
                                   ("its hash", 60, 0, False)):
        data[at] ^= 1
        (folder / "bad.weights").write_bytes(data)
        data[at] ^= 1
        said = call("external", "bad.weights", verify)
        ok((len(said) > 1) == good, f"damaged {name}, {'with' if verify else 'without'} the full hash: {said[0]}")
    (folder / "bad.weights").write_bytes(data[:-1])
    ok(len(call("external", "bad.weights", 0)) == 1, "a truncated weights file")

    def changed(name: str, at: int, value: float, shape: tuple | None = None) -> dict:
        found = weights(2)
        kept, values = found[name]
        values[at] = value
        found[name] = shape or kept, values
        return found

    good = (folder / "new.safetensors").read_bytes()
    missing = weights(2)
    del missing["fc.bias"]
    for name, content, texts in (
            ("NaN of a padded convolution", changed("conv.weight", 31, math.nan),
             ('"conv.weight"', "nan", "[1, 0, 1, 1]")),
            ("infinity of a padded convolution", changed("conv.weight", 0, -math.inf), ("-inf", "[0, 0, 0, 0]")),
            ("infinity folded into one", changed("norm.weight", 2, math.inf), ('"norm.weight"', "inf", "[2]")),
            ("a product that is none", changed("norm.weight", 2, 3e38) | {"conv.weight": (
                SHAPES["conv.weight"], [1e3] * 108)}, ("conv.weight", "inf")),
            ("another shape", changed("fc.weight", 0, 0.0, (70, 288)), ('"fc.weight"', "[140,144]")),
            ("a missing one", missing, ('"fc.bias"',)),
            ("a truncated file", good[:-4], ("bad.safetensors",)),
            ("a truncated header", good[:60], ("bad.safetensors",)),
            ("no safetensors", b"\xff" * 64, ("bad.safetensors",)),
            ("an empty file", b"", ("bad.safetensors",))):
        bad = folder / "bad.safetensors"
        if isinstance(content, bytes):
            bad.write_bytes(content)
        else:
            models.safetensors(bad, content)
        result = tool("pack", "model.c", "--from", "bad.safetensors", "--out", "never.weights")
        if not ok(result.returncode == 1 and all(t in result.stderr for t in texts) and "Traceback" not in result.stderr
                  and not (folder / "never.weights").exists(), f"refused: {name}"):
            note(f"{result.returncode}: {result.stderr}")
    models.safetensors(folder / "bad.safetensors", changed("fc.weight", 5, math.nan))
    result = tool("pack", "model.c", "--from", "bad.safetensors", "--out", "nan.weights")
    equal((result.returncode, result.stderr), (0, ""), "NaN elsewhere is the user's own")
    result = tool("pack", "model.c", "--from", "new.safetensors", "--from", "new.safetensors", "--out", "two.weights")
    ok(result.returncode == 1 and "the model reads 1 weight files, 2 were given" in result.stderr, "too many files")
    result = tool("pack", "model.c", "--from", "none.safetensors", "--out", "two.weights")
    ok(result.returncode == 1 and "no such weights file" in result.stderr, "a missing file")
done()
