# SPDX-License-Identifier: Apache-2.0
"""Functions of scopes, loops of layers, blocks of control flow: what is written, and that it computes the same.

Every model is imported, built and called with data whose results are known by hand; layers that are one function in a
loop must give what the layers one by one would.
"""
import os
import struct
import tempfile
from pathlib import Path

import encode as e
import forked
from tap import done, equal, ok
from tensor_compile.importer.values import Bytes, Value
from tensor_compile.importer.weights import Weights
from tensor_compile.symbolic import wrap

CACHE = os.environ["TC_TESTS_CACHE"]
work = Path(tempfile.mkdtemp())
F, I, B = e.FLOAT, e.INT64, e.BOOL


def tensors(name: str, values: dict[str, tuple[str, list[int], list]]) -> None:
    letters = {"f32": "f", "i64": "q", "bool": "?"}
    found = Weights()
    for key, (dtype, shape, elements) in values.items():
        found.add(key, Value(dtype, tuple(map(wrap, shape)),
                             data=Bytes(struct.pack(f"<{len(elements)}{letters[dtype]}", *elements))))
    (work / name).write_bytes(b"".join(found.blocks()))


def computes(name: str, data: bytes, inputs: dict, outputs: dict, *words: str) -> str:
    """Imports, builds and calls; the text of model.c."""
    (work / f"{name}.onnx").write_bytes(data)
    result = forked.tool("import", f"{name}.onnx", "-o", name, cwd=work)
    if not ok(result.returncode == 0, f"{name} is imported"):
        print("# " + result.stderr.replace("\n", "\n# "))
        return ""
    tensors(f"{name}.in", inputs)
    tensors(f"{name}.out", outputs)
    result = forked.tool("check", f"{name}/model.c", "--isa", "avx2", "--cache", CACHE, "--inputs", f"{name}.in",
                         "--expect", f"{name}.out", *words, cwd=work)
    if not ok(result.returncode == 0, f"{name} computes what it should"):
        print("# " + (result.stdout + result.stderr).replace("\n", "\n# "))
    return (work / name / "model.c").read_text()


# -- layers ------------------------------------------------------------------------------------------------------------
nodes, weights = [], []
for i in range(3):
    scope, before = f"/encoder/layer.{i}", f"h{i}"
    nodes += [e.node("MatMul", [before, f"onnx::MatMul_{i}"], [f"{scope}/dense/MatMul_output_0"],
                     f"{scope}/dense/MatMul"),
              e.node("Add", [f"encoder.layer.{i}.dense.bias", f"{scope}/dense/MatMul_output_0"],
                     [f"{scope}/dense/Add_output_0"], f"{scope}/dense/Add"),
              e.node("Relu", [f"{scope}/dense/Add_output_0"], [f"{scope}/Relu_output_0"], f"{scope}/Relu"),
              e.node("Add", [f"{scope}/Relu_output_0", before], [f"h{i + 1}"], f"{scope}/Add")]
    weights += [e.tensor(f"onnx::MatMul_{i}", F, [2, 2], [1.0 + i, 0.0, 0.0, 1.0]),
                e.tensor(f"encoder.layer.{i}.dense.bias", F, [2], [0.5, -100.0])]
layers = e.model(e.graph([*nodes, e.node("Neg", ["h3"], ["y"], "/Neg")], [e.value_info("h0", F, ["n", 2])],
                         [e.value_info("y", F, ["n", 2])], weights))
# x, 0 -> x + relu(x * (1 + i) + 0.5), 0 + relu(-100): 1 -> 2.5 -> 8 -> 32.5
text = computes("layers", layers, {"h0": ("f32", [1, 2], [1.0, 0.0])}, {"y": ("f32", [1, 2], [-32.5, 0.0])}, "--dims",
                "n=1")
ok("for (int i = 0; i < 3; i++) {" in text and 'tc_name(g, "layer.%d", i)' in text, "three layers are a loop")
equal(text.count("tc_matmul"), 1, "of one function")
ok('tc_weight(g, "weight")' in text and 'tc_weight(g, "bias")' in text,
   "whose weights have names relative to its scope")
result = forked.tool("explain", "layers/model.c", "--isa", "avx2", "--cache", CACHE, cwd=work)
line = text[:text.index("tc_matmul")].count("\n") + 1
ok(f"encoder.layer.2.dense MatMul:{line}\n" in result.stdout, "explain names the layer and the node")
(work / "layers" / "model.c").write_text(text.replace('tc_weight(g, "weight")', 'tc_weight(g, "wait")'))
result = forked.tool("build", "layers/model.c", "--cache", CACHE, cwd=work)
ok(result.stderr.startswith(f"MatMul:{line}: error: tc_weight: no weight"), "and so does an error")
header = (work / "layers" / "model.safetensors").read_bytes()[8:2000]
ok(b'"encoder.layer.2.dense.weight"' in header and b'"encoder.layer.2.dense.bias"' in header,
   "weights without a name have one by their scope")

# The second's result is read behind them, too: a loop of all three would not keep it.
skipping = e.model(e.graph([*nodes, e.node("Sub", ["h2", "h3"], ["y"], "/Sub")], [e.value_info("h0", F, ["n", 2])],
                           [e.value_info("y", F, ["n", 2])], weights))
text = computes("skipping", skipping, {"h0": ("f32", [1, 2], [1.0, 0.0])}, {"y": ("f32", [1, 2], [-24.5, 0.0])},
                "--dims", "n=1")
ok("for (int i = 0; i < 2; i++) {" in text, "a loop ends with the layer whose result others read")

# -- conditions --------------------------------------------------------------------------------------------------------
then = e.graph([e.node("Add", ["x", "one"], ["t"])], [], [e.value_info("t", F, [2])])
other = e.graph([e.node("Neg", ["x"], ["u"])], [], [e.value_info("u", F, [2])])
choice = e.model(e.graph([e.node("If", ["p"], ["y"], "choose", then_branch=("graph", then),
                                 else_branch=("graph", other))],
                         [e.value_info("p", B, []), e.value_info("x", F, [2])], [e.value_info("y", F, [2])],
                         [e.tensor("one", F, [], [1.0])]))
text = computes("choice", choice, {"p": ("bool", [], [True]), "x": ("f32", [2], [1.0, 2.0])},
                {"y": ("f32", [2], [2.0, 3.0])})
ok("TC_IF(g, p, &" in text and "TC_ELSE(g) {" in text, "a condition that is data is TC_IF")
computes("choice", choice, {"p": ("bool", [], [False]), "x": ("f32", [2], [1.0, 2.0])},
         {"y": ("f32", [2], [-1.0, -2.0])})

# -- loops -------------------------------------------------------------------------------------------------------------
body = e.graph([e.node("Add", ["a", "b"], ["c"]), e.node("Identity", ["go"], ["go_on"]),
                e.node("Identity", ["b"], ["a_next"]),
                e.node("Identity", ["c"], ["each"])],
               [e.value_info("iteration", I, []), e.value_info("go", B, []), e.value_info("a", F, []),
                e.value_info("b", F, [])],
               [e.value_info("go_on", B, []), e.value_info("a_next", F, []), e.value_info("c", F, []),
                e.value_info("each", F, [])])
inputs = [e.value_info("a0", F, []), e.value_info("b0", F, [])]
outputs = [e.value_info("a_last", F, []), e.value_info("b_last", F, []), e.value_info("all", F, [5])]
fibonacci = e.model(e.graph([e.node("Loop", ["iterations", "", "a0", "b0"], ["a_last", "b_last", "all"], "fib",
                                    body=("graph", body))], inputs, outputs, [e.tensor("iterations", I, [], [5])]))
text = computes("fibonacci", fibonacci, {"a0": ("f32", [], [0.0]), "b0": ("f32", [], [1.0])},
                {"a_last": ("f32", [], [5.0]), "b_last": ("f32", [], [8.0]),
                 "all": ("f32", [5], [1.0, 2.0, 3.0, 5.0, 8.0])})
ok("TC_SCAN(g, 5, &" in text and "tc_collect(" in text, "a known number of iterations is TC_SCAN")

body = e.graph([e.node("Mul", ["v", "two"], ["w"]), e.node("Less", ["w", "limit"], ["go_on"])],
               [e.value_info("iteration", I, []), e.value_info("go", B, []), e.value_info("v", F, [])],
               [e.value_info("go_on", B, []), e.value_info("w", F, [])])
doubling = e.model(e.graph([e.node("Loop", ["", "first", "x"], ["y"], "double", body=("graph", body))],
                           [e.value_info("x", F, []), e.value_info("limit", F, [])], [e.value_info("y", F, [])],
                           [e.tensor("two", F, [], [2.0]), e.tensor("first", B, [], [True])]))
text = computes("doubling", doubling, {"x": ("f32", [], [3.0]), "limit": ("f32", [], [20.0])},
                {"y": ("f32", [], [24.0])})
ok("TC_WHILE(g, &" in text and "tc_test(" in text, "one that the data ends is TC_WHILE")

grow = e.graph([e.node("Concat", ["v", "v"], ["w"], axis=0), e.node("Identity", ["go"], ["go_on"])],
               [e.value_info("iteration", I, []), e.value_info("go", B, []), e.value_info("v", F, None)],
               [e.value_info("go_on", B, []), e.value_info("w", F, None)])
growing = e.model(e.graph([e.node("Loop", ["iterations", "", "x"], ["y"], "grow", body=("graph", grow))],
                          [e.value_info("x", F, [1])], [e.value_info("y", F, [4])],
                          [e.tensor("iterations", I, [], [2])]))
text = computes("growing", growing, {"x": ("f32", [1], [7.0])}, {"y": ("f32", [4], [7.0] * 4)})
ok("TC_SCAN" not in text and text.count("tc_concat") == 2, "one whose types change is written out")

# -- names -------------------------------------------------------------------------------------------------------------
named = e.model(e.graph([e.node("Add", ["class", "a b"], ["int"], "n")],
                        [e.value_info("class", F, ["a b"]), e.value_info("a b", F, ["a b"])],
                        [e.value_info("int", F, None)]))
text = computes("named", named, {"class_2": ("f32", [2], [1.0, 2.0]), "a_b_2": ("f32", [2], [3.0, 4.0])},
                {"int_2": ("f32", [2], [4.0, 6.0])}, "--dims", "a_b=2")
ok('tc_input(g, "class_2", TC_F32, a_b)' in text, "names that C and C++ take, and those of dims, get a number")
done()
