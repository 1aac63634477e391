# SPDX-License-Identifier: Apache-2.0
"""`tensor-compile import`: what is written, that it is written again the same, what is left alone, every error."""
import os
import subprocess
import tempfile
from pathlib import Path

import encode as e
import forked
from tap import done, equal, ok

CACHE = os.environ["TC_TESTS_CACHE"]
work = Path(tempfile.mkdtemp())


def tool(*words: object) -> subprocess.CompletedProcess:
    return forked.tool(*words, cwd=work)


def save(name: str, data: bytes) -> Path:
    (work / name).write_bytes(data)
    return work / name


def refused(name: str, data: bytes, message: str, *words: object) -> None:
    """One error with this text, and nothing written."""
    save("wrong.onnx", data)
    result = tool("import", "wrong.onnx", "-o", "wrong", *words)
    ok(result.returncode in (1, 2) and message in result.stderr and not (work / "wrong").exists(), f"{name}: {message}")
    if message not in result.stderr:
        print(f"# got {result.stderr!r}")


def one(op: str, kinds: str = "x", *, opset: int = 17, dims=(2, 3), tensors=(), **attributes) -> bytes:
    """A model of one node; its inputs are float tensors."""
    inputs = [e.value_info(k, e.FLOAT, dims) for k in kinds]
    return e.model(e.graph([e.node(op, [*kinds, *(t[0] for t in tensors)], ["y"], "n", **attributes)], inputs,
                           [e.value_info("y", e.FLOAT, None)], [t[1] for t in tensors]), opset)


# -- a network: what is written ----------------------------------------------------------------------------------------
network = e.model(e.graph(
    [e.node("Conv", ["image", "conv.weight", "conv.bias"], ["/features/conv/Conv_output_0"], "/features/conv/Conv",
            pads=[1, 1, 1, 1]),
     e.node("Relu", ["/features/conv/Conv_output_0"], ["/features/Relu_output_0"], "/features/Relu"),
     e.node("MaxPool", ["/features/Relu_output_0"], ["pooled"], "/features/pool", kernel_shape=[2, 2], strides=[2, 2]),
     e.node("Shape", ["pooled"], ["shape"], "shape"),
     e.node("Gather", ["shape", "zero"], ["rows"], "rows", axis=0),
     e.node("Unsqueeze", ["rows", "first"], ["rows_1"], "rows_1"),
     e.node("Concat", ["rows_1", "rest"], ["target"], "target", axis=0),
     e.node("Reshape", ["pooled", "target"], ["flat"], "flat"),
     e.node("Gemm", ["flat", "fc.weight", "fc.bias"], ["scores"], "fc", transB=1),
     e.node("Softmax", ["scores"], ["probabilities"], "softmax", axis=-1)],
    [e.value_info("image", e.FLOAT, ["batch", 1, 4, 4])], [e.value_info("probabilities", e.FLOAT, ["batch", 3])],
    [e.tensor("conv.weight", e.FLOAT, [2, 1, 3, 3], [0.125 * (i - 9) for i in range(18)]),
     e.tensor("conv.bias", e.FLOAT, [2], [0.5, -0.5]),
     e.tensor("fc.weight", e.FLOAT, [3, 8], [0.0625 * (i % 7 - 3) for i in range(24)]),
     e.tensor("fc.bias", e.FLOAT, [3], [0.0, 0.25, -0.25]), e.tensor("zero", e.INT64, [], [0]),
     e.tensor("first", e.INT64, [1], [0]), e.tensor("rest", e.INT64, [1], [-1])]))
save("net.onnx", network)
result = tool("import", "net.onnx", "-o", "net")
equal((result.returncode, result.stdout + result.stderr), (0, ""), "a network is imported, silently")
text = (work / "net" / "model.c").read_text()
for line in ('tc_dim batch = tc_dynamic(g, "batch", 1, 4096);', 'tc_input(g, "image", TC_F32, batch, 1, 4, 4)',
             'static tc_tensor features(tc_graph *g, const char *scope, tc_tensor image)', 'features(g, "conv", image)',
             'tc_conv2d(image, tc_weight(g, "weight"), tc_weight(g, "bias"), .padding = {1, 1})',
             '.kernel = {2, 2}, .stride = {2, 2}', 'tc_reshape(pooled, batch, 8)',
             'tc_linear(flat, tc_weight(g, "fc.weight")',
             'tc_output(g, "probabilities"'):
    ok(line in text, f"model.c has {line}")
ok(max(map(len, text.splitlines())) <= 120, "no line is longer than 120 columns")
before = {p.name: p.read_bytes() for p in (work / "net").iterdir()}
tool("import", work / "net.onnx", "-o", "net")
equal({p.name: p.read_bytes() for p in (work / "net").iterdir()}, before, "a second import writes the same bytes")
result = tool("check", "net/model.c", "--dims", "batch=3", "--isa", "avx2", "--cache", CACHE)
ok(result.returncode == 0 and "probabilities: equal" in result.stdout,
   "it is compiled and equals the interpreter's bits")
if result.returncode:
    print("# " + (result.stdout + result.stderr).replace("\n", "\n# "))

# -- steps that are one operation --------------------------------------------------------------------------------------
F6 = [e.tensor("three", e.FLOAT, [], [3.0]), e.tensor("zero", e.FLOAT, [], [0.0]), e.tensor("six", e.FLOAT, [], [6.0])]


def gates(read_twice: bool) -> str:
    nodes = [e.node("Sigmoid", ["x"], ["s"]), e.node("Mul", ["s", "x"], ["a"]), e.node("Add", ["a", "three"], ["b"]),
             e.node("Clip", ["b", "zero", "six"], ["c"]), e.node("Mul", ["a", "c"], ["d"]),
             e.node("Div", ["d", "six"], ["y"])]
    outputs = ["y", "s", "c"] if read_twice else ["y"]
    save("gates.onnx", e.model(e.graph(nodes, [e.value_info("x", e.FLOAT, [2])],
                                       [e.value_info(name, e.FLOAT, [2]) for name in outputs], F6)))
    tool("import", "gates.onnx", "-o", "gates", "--force")
    return (work / "gates" / "model.c").read_text()


text_of_gates = gates(False)
ok("= tc_silu(x);" in text_of_gates and "= tc_hardswish(" in text_of_gates and "tc_sigmoid" not in text_of_gates
   and "tc_clamp" not in text_of_gates, "x * sigmoid(x) and x * clamp(x + 3, 0, 6) / 6 have their names")
text_of_gates = gates(True)
ok("tc_silu" not in text_of_gates and "tc_hardswish" not in text_of_gates, "not where somebody else reads a step")

# -- dims --------------------------------------------------------------------------------------------------------------
tool("import", "net.onnx", "-o", "ranged", "--dim", "batch=2:64:2")
ok('tc_dynamic(g, "batch", 2, 64, .divisor = 2)' in (work / "ranged" / "model.c").read_text(), "--dim gives a range")
tool("import", "net.onnx", "-o", "fixed", "--dim", "batch=5")
ok('tc_input(g, "image", TC_F32, 5, 1, 4, 4)' in (work / "fixed" / "model.c").read_text(), "--dim gives a size")
for words, message in ((("--dim", "bach=5"), "--dim: the model has no dim 'bach'"),
                       (("--dim", "batch=5:2"), "--dim: not DIM=SIZE, DIM=LOW:HIGH or DIM=LOW:HIGH:DIVISOR: "),
                       (("--dim", "batch=5", "--dim", "batch=6"), "--dim names batch more than once"),
                       (("--set", "picture=1"), "--set: the model has no input 'picture'"),
                       (("--set", "image=x"), "--set: not numbers of f32: 'x'"),
                       (("--set", "image=1,2"), "--set: image has 4 axes whose sizes 2 numbers do not give")):
    result = tool("import", "net.onnx", "-o", "no", *words)
    ok(result.returncode == (1 if "no dim" in message else 2) and message in result.stderr, message)

# -- what the user has edited ------------------------------------------------------------------------------------------
source = work / "net" / "model.c"
source.write_text(text.replace("4096", "64"))
result = tool("import", "net.onnx", "-o", "net")
ok(result.returncode == 1 and "it was changed since an import wrote it, or something else wrote it" in result.stderr
   and "64" in source.read_text(), "an edited model.c is left alone")
equal(tool("import", "net.onnx", "-o", "net", "--force").returncode, 0, "--force overwrites it")
equal(source.read_text(), text, "as it was at first")

# -- built without a model.c of the user's -----------------------------------------------------------------------------
result = tool("build", "net.onnx", "-o", "built", "--isa", "avx2", "--cache", CACHE, "--depfile", "built/net.d",
              "--dim",
              "batch=1:8")
equal((result.returncode, result.stderr), (0, ""), "build takes the .onnx")
depends = (work / "built" / "net.d").read_text()
ok(str(work / "net.onnx") in depends and "imports" not in depends,
   "its depfile names the .onnx, and nothing in the cache")
ok("NET_IMAGE_BYTES" in (work / "built" / "net.h").read_text(), "the header is named by the file")
equal(tool("check", "net.onnx", "--dims", "batch=2", "--isa", "avx2", "--cache", CACHE, "--dim",
           "batch=1:8").returncode, 0,
      "so does check")
ok("conv2d" in tool("explain", "net.onnx", "--isa", "avx2", "--cache", CACHE, "--dim", "batch=1:8").stdout,
   "so does explain")
(work / "one" / "builds").mkdir(parents=True)   # of all that the tests' cache remembers, this build alone
for path in Path(CACHE).glob("builds/*.json"):
    if str(work / "built") in path.read_text():
        (work / "one" / "builds" / path.name).write_text(path.read_text())
result = tool("tune", "-C", "one", "--rounds", "2")
lock = work / "net.tuning.lock"
ok(result.returncode == 0 and lock.is_file() and "contraction f32 rows=batch" in lock.read_text(),
   "tune measures its products, for a lock beside it")
if result.returncode:
    print("# " + (result.stdout + result.stderr).replace("\n", "\n# "))
result = tool("build", "net.onnx", "-o", "frozen", "--isa", "avx2", "--cache", CACHE, "--dim", "batch=1:8",
              "--tune", "frozen")
equal((result.returncode, result.stderr), (0, ""), "which the next build reads: every product has its entry")
lock.unlink()
result = tool("build", "net/model.c", "-o", "no", "--cache", CACHE, "--dim", "batch=3")
ok(result.returncode == 2 and "--dim goes with a model that is imported (.onnx)" in result.stderr, "--dim of a model.c")
result = tool("check", "net.onnx", "--isa", "avx2", "--cache", CACHE, "--dim", "batch=1:8", "--dims", "batch=9")
equal((result.returncode, result.stderr), (2, "net.onnx: error: --dims: batch = 9 is not in 1..8\n"
                                              "  hint: --dim batch=LOW:HIGH gives another range\n"),
      "a size out of the range that --dim gives")

# -- external data -----------------------------------------------------------------------------------------------------


def external(location: str, **more: str) -> bytes:
    return e.model(e.graph([e.node("Add", ["x", "w"], ["y"], "n")], [e.value_info("x", e.FLOAT, [2])],
                           [e.value_info("y", e.FLOAT, [2])],
                           [e.tensor("w", e.FLOAT, [2], external={"location": location, **more})]))


(work / "weights.bin").write_bytes(b"\0\0\0\0" + b"\0\0\x80\x3f\0\0\0\x40")
save("outside.onnx", external("weights.bin", offset="4", length="8"))
equal(tool("import", "outside.onnx", "-o", "outside").returncode, 0, "external data is read")
ok((work / "outside" / "model.safetensors").read_bytes().endswith(b"\0\0\x80\x3f\0\0\0\x40"), "byte by byte")
refused("external", external("../weights.bin"), "which is not beside the model")
refused("external", external("/etc/passwd"), "which is not beside the model")
refused("external", external("none.bin"), "no such file")
refused("external", external("weights.bin", offset="8", length="8"),
        "has external data beyond the end of 'weights.bin'")
refused("external", external("weights.bin", offset="-1"), "has external data with the offset '-1'")
refused("external", external("weights.bin", length="4"), "has 4 bytes, its shape needs 8")
(work / "link.bin").symlink_to("/etc/hostname")
refused("external", external("link.bin"), "which leads out of the model's folder")

# -- files that are no models ------------------------------------------------------------------------------------------
refused("empty", b"", "the file is empty")
refused("text", b"hello, world\n", "is it whole, and an ONNX model?")
refused("cut off", network[:len(network) // 2], "is cut off behind")
refused("no graph", e.number(1, 8), "it has no graph")
refused("a number of 11 bytes", b"\x08" + b"\xff" * 11, "a number has more than 64 bits")
deep = b""
for _ in range(80):
    deep = e.graph([e.content(5, e.content(6, deep))], [], [])
refused("deep", e.model(deep), "messages are nested more than 64 deep")
refused("no output", e.model(e.graph([], [], [])), "it has no outputs")
refused("cycle", e.model(e.graph([e.node("Relu", ["b"], ["a"], "first"), e.node("Relu", ["a"], ["b"], "second")], [],
                                 [e.value_info("b", e.FLOAT, [1])])), "nothing before it gives its input 'b'")
refused("nothing gives it", e.model(e.graph([], [], [e.value_info("y", e.FLOAT, [1])])), "nothing gives the output 'y'")
refused("absurd", e.model(e.graph([], [], [e.value_info("w", e.FLOAT, [1])],
                                  [e.tensor("w", e.FLOAT, [1 << 40, 1 << 40], [1.0])])), "would have")
refused("too few bytes", e.model(e.graph([], [], [e.value_info("w", e.FLOAT, [2])],
                                         [e.tensor("w", e.FLOAT, [2], [1.0])])), "has 4 bytes, its shape needs 8")

save("model.gguf", b"x")
ok("only .onnx, .pt2 and .tflite files are imported" in tool("import", "model.gguf").stderr,
   "a format that is not known")

(work / "folder.onnx").mkdir()
ok("a folder, not a model" in tool("import", "folder.onnx").stderr, "a folder, not a model")
ok("no such file" in tool("import", "nothing.onnx").stderr, "no such file")

# -- what cannot be imported -------------------------------------------------------------------------------------------
several = e.model(e.graph(
    [e.node("Frobnicate", ["x"], ["a"], "f1", domain="my.domain"), e.node("Relu", ["a"], ["b"], "r"),
     e.node("Frobnicate", ["b"], ["c"], "f2", domain="my.domain"), e.node("StringNormalizer", ["c"], ["y"], "s")],
    [e.value_info("x", e.FLOAT, [2])], [e.value_info("y", e.FLOAT, [2])]), domains={"my.domain": 1})
refused("all at once", several,
        "3 nodes of the model cannot be imported:\n  2 x my.domain::Frobnicate: no operation of opset 1 "
        "is known (at f1, f2)\n      in a model.c of your own tc_extern "
        "calls a C function of yours (docs/externs.md)\n  StringNormalizer: no operation of opset 17 is known (at s)")
refused("no opset", e.model(e.graph([e.node("F", ["x"], ["y"], "f", domain="d")], [e.value_info("x", e.FLOAT, [2])],
                                    [e.value_info("y", e.FLOAT, [2])])), "the model names no opset of the domain 'd'")
refused("an attribute", one("Relu", speed=3),
        "1 node of the model cannot be imported:\n  Relu: the attribute speed (at n)")
refused("a missing attribute", one("Concat", "xz"), "the attribute 'axis' is missing")

for op, kinds, more in (("Gather", "xz", {}), ("GatherElements", "xz", {}), ("Split", "x", {}),
                        ("Hardmax", "x", {"axis": 0}),
                        ("CumSum", "x", {"tensors": [("axis", e.tensor("axis", e.INT64, [], [0]))]})):
    refused(f"{op} of a number", one(op, kinds, dims=(), **more), "of a tensor of rank 0")
refused("sequences of one axis", one("ReverseSequence", "xz", dims=(3,)), "sequences of rank 1, lengths of rank 1")
refused("a condition that is a number", one("Compress", "x", tensors=[("c", e.tensor("c", e.BOOL, [], [True]))]),
        "a condition of rank 0")
turn = e.graph([e.node("Identity", ["v"], ["w"])], [e.value_info("v", e.FLOAT, None)],
               [e.value_info("w", e.FLOAT, None)])
refused("a scan of a number", one("Scan", "x", dims=(), body=("graph", turn), num_scan_inputs=1),
        "axis 0 of a tensor of rank 0")

refused("strings", e.model(e.graph([e.node("Identity", ["x"], ["y"])], [e.value_info("x", e.STRING, [2])],
                                   [e.value_info("y", e.STRING, [2])])), "input: tensors of string (at x)")
refused("rank", one("Relu", dims=None), "its number of dims is not known")
sizes = e.model(e.graph([e.node("Reshape", ["x", "shape"], ["y"], "n")],
                        [e.value_info("x", e.FLOAT, [6]), e.value_info("shape", e.INT64, [2])],
                        [e.value_info("y", e.FLOAT, [2, 3])]))
refused("a size at run time", sizes, "Reshape: the shape is known at run time only (at n)\n"
        "      it comes from the model's input shape: --set shape=… fixes it")
save("sizes.onnx", sizes)
equal(tool("import", "sizes.onnx", "-o", "sizes", "--set", "shape=2,3").returncode, 0, "--set fixes it")
ok("tc_reshape(x, 2, 3)" in (work / "sizes" / "model.c").read_text(), "as a constant")
# Sizes by way of powers, roots and extremes of numbers that are known: exporters of scripts write them.
side = [e.node("Shape", ["x"], ["shape"], "shape"), e.node("ReduceProd", ["shape"], ["count"], "count", keepdims=0),
        e.node("Cast", ["sixteen"], ["float"], "float", to=e.FLOAT), e.node("Pow", ["float", "half"], ["side"], "side"),
        e.node("Reciprocal", ["quarter"], ["four"], "four"),
        e.node("ReduceMax", ["both"], ["largest"], "largest", keepdims=0),
        e.node("Min", ["largest", "four"], ["least"], "least"), e.node("Mul", ["side", "least"], ["total"], "total"),
        e.node("Cast", ["total"], ["whole"], "whole", to=e.INT64),
        e.node("Unsqueeze", ["whole", "first"], ["one"], "one"),
        e.node("Unsqueeze", ["count", "first"], ["two"], "two"),
        e.node("Concat", ["two", "one"], ["to"], "to", axis=0),
        e.node("Expand", ["column", "to"], ["y"], "y")]
numbers = [e.tensor("sixteen", e.INT64, [], [16]), e.tensor("half", e.FLOAT, [], [0.5]),
           e.tensor("quarter", e.FLOAT, [], [0.25]), e.tensor("both", e.FLOAT, [2], [2.0, 9.0]),
           e.tensor("first", e.INT64, [1], [0]), e.tensor("column", e.FLOAT, [1, 1], [1.0])]
save("side.onnx", e.model(e.graph(side, [e.value_info("x", e.FLOAT, ["rows", 3])], [e.value_info("y", e.FLOAT, None)],
                                  numbers)))
equal(tool("import", "side.onnx", "-o", "side").returncode, 0, "sizes by powers, roots and extremes are known")
ok(", tc_dim_mul(rows, 3), 16)" in (work / "side" / "model.c").read_text(), "and so are products of sizes")
recursive = e.function("d", "F", ["x"], ["y"], [e.node("F", ["x"], ["y"], domain="d")])
of_data = [e.node("NonZero", ["x"], ["places"], "where"), e.node("Transpose", ["places"], ["y"], "turned", perm=[1, 0])]
counted = e.model(e.graph(of_data, [e.value_info("x", e.FLOAT, ["rows", 3])], [e.value_info("y", e.INT64, None)]))
save("counted.onnx", counted)
equal(tool("import", "counted.onnx", "-o", "counted").returncode, 0, "a result whose size is data is imported")
text = (work / "counted" / "model.c").read_text()
for line in ('tc_nonzero_static(x, ', 'tc_count_nonzero(x)', 'tc_output(g, "y"', 'tc_output(g, "y_count"'):
    ok(line in text, f"model.c has {line}")
read = e.model(e.graph([*of_data, e.node("ReduceMax", ["y"], ["z"], "n")], [e.value_info("x", e.FLOAT, [2, 3])],
                       [e.value_info("z", e.INT64, None)]))
refused("a size that is data, read", read, "ReduceMax: the size of an input is data (at n)")
refused("recursion", e.model(e.graph([e.node("F", ["x"], ["y"], "f", domain="d")], [e.value_info("x", e.FLOAT, [2])],
                                     [e.value_info("y", e.FLOAT, [2])]), functions=[recursive], domains={"d": 1}),
        "functions call each other more than 32 deep")
done()
