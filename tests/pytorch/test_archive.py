# SPDX-License-Identifier: Apache-2.0
"""Archives of torch.export: what is written for a whole one, and one clear error for each that is not."""
from __future__ import annotations

import copy
import json
import struct
import tempfile
from pathlib import Path
from typing import Any, Callable

import tap
from archives import Json, arg, members, node, program, save, tensor, weights
from tensor_compile.errors import UserError
from tensor_compile.importer.pytorch import expressions, reader
from tensor_compile.importer.pytorch.members import Member, Place
from tensor_compile.importer.pytorch.outputs import outputs_of
from tensor_compile.importer.problems import Malformed, Unsupported
from tensor_compile.symbolic import Sym, sym

SOURCE = """TC_MODEL(m)
{
    tc_dim x_0 = tc_dynamic(g, "x_0", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, x_0, 2);
    tc_weights(g, "model.safetensors");

#line 15 "linear"
    tc_tensor linear = tc_linear(x, tc_weight(g, "fc.weight"), tc_weight(g, "fc.bias"));
#line 17 "relu"
    tc_tensor relu = tc_relu(linear);
#line 19 "model.c"
    tc_output(g, "output", relu);
}
"""


def edited(*edits: Callable[[Json], None]) -> Json:
    made = copy.deepcopy(program())
    for edit in edits:
        edit(made)
    return made


def put(*path: Any) -> Callable[[Json], None]:
    """Sets the last of the path at the place that the rest names."""
    *keys, last, value = path

    def edit(of: Json) -> None:
        for key in keys:
            of = of[key]
        of[last] = value
    return edit


GRAPH = ("graph_module", "graph")


def refused(folder: Path, content: dict[str, bytes], message: str, name: str) -> None:
    path = save(folder / "m.pt2", content)
    tap.raises(UserError, lambda: reader.import_file(path, "m.pt2"), message, name)


def whole(folder: Path) -> None:
    made = reader.import_file(save(folder / "m.pt2", members()), "m.pt2")
    tap.equal(made.text[made.text.index("TC_MODEL"):], SOURCE, "a linear layer is three lines")
    tap.equal(b"".join(made.blocks())[-36:], struct.pack("<9f", 1, 2, 3, 4, 5, 6, -1, 0, 1),
              "its weights are the archive's bytes")
    tap.equal(reader.import_file(folder / "m.pt2", "m.pt2").text, made.text, "twice the same")
    constants = edited(*(lambda of, name=name, value=value: of["graph_module"]["signature"]["input_specs"].append(
        {"constant_input": {"name": name, "value": value}}) for name, value in (
            ("flag", {"as_bool": False}), ("mask", {"as_none": True}), ("count", {"as_int": 3}),
            ("mode", {"as_string": "x"}), ("scale", {"as_float": 2.5}))))
    tap.equal(reader.import_file(save(folder / "m.pt2", members(constants)), "m.pt2").text, made.text,
              "flags, None and numbers of the sample call are no inputs")
    save(folder / "m.pt2", members())
    table = weights()
    table["config"]["fc.weight"]["tensor_meta"]["strides"] = [{"as_int": 1}, {"as_int": 3}]
    made = reader.import_file(save(folder / "m.pt2", members(table=table)), "m.pt2")
    tap.equal(b"".join(made.blocks())[-36:-12], struct.pack("<6f", 1, 4, 2, 5, 3, 6),
              "a weight in columns is laid in rows")


def broken(folder: Path) -> None:
    (folder / "none.pt2").write_bytes(b"PK but no archive")
    tap.raises(UserError, lambda: reader.import_file(folder / "none.pt2", "none.pt2"),
               "no archive of torch.export.save (",
               "a file that is no zip file")
    tap.raises(UserError, lambda: reader.import_file(folder, "folder"), "a folder, not an archive", "a folder")
    tap.raises(UserError, lambda: reader.import_file(folder / "x.pt2", "x.pt2"), "no such file", "no file")
    content = members()
    del content["m/models/model.json"]
    refused(folder, content, "the archive has no program", "no program")
    refused(folder, {**content, "m/serialized_exported_program.json": b'{"schema_version": {"major": 5}}'},
            "the program is of schema version 5; versions 7 to 8 can be read", "an archive of PyTorch 2.4")
    refused(folder, {**members(), "m/models/b.json": b"{}"}, "the archive has several programs: ", "two programs")
    refused(folder, members(edited(put("schema_version", {"major": 9}))),
            "the program is of schema version 9; versions 7 to 8 can be read", "another schema")
    refused(folder, {**members(), "m/models/model.json": b"{"}, "m/models/model.json is no JSON",
            "JSON that ends early")
    refused(folder, {**members(), "m/models/model.json": b"[]"}, "m/models/model.json is no JSON object", "a list")
    content = members()
    del content["m/data/weights/weight_1"]
    refused(folder, content, "the archive has no member m/data/weights/weight_1", "a weight without bytes")
    refused(folder, {**members(), "m/data/weights/weight_0": b"\0" * 20},
            "needs 24 bytes, m/data/weights/weight_0 has 20",
            "a weight that is cut short")
    text = json.dumps(program()).replace('"metadata": {}', '"metadata": {"a": ' + "[" * 200000 + "]" * 200000 + "}", 1)
    refused(folder, {**members(), "m/models/model.json": text.encode()}, "is no JSON", "JSON of 200,000 brackets")
    path = save(folder / "m.pt2", members())
    data = bytearray(path.read_bytes())
    data[data.index(struct.pack("<6f", 1, 2, 3, 4, 5, 6))] ^= 1
    (folder / "changed.pt2").write_bytes(data)
    tap.raises(UserError, lambda: list(reader.import_file(folder / "changed.pt2", "changed.pt2").blocks()),
               "the member m/data/weights/weight_0 cannot be read (Bad CRC-32", "a member with another checksum")
    member = Member(path, Place("m/data/weights/weight_1", 12), 0, 40)
    tap.raises(UserError, lambda: list(member.blocks()),
               "the member m/data/weights/weight_1 cannot be read (it is shorter than it says)",
               "a member that became shorter")
    tap.raises(UserError, lambda: reader.import_file(path, "m.pt2", fixed=["x=1"]),
               "--set: a PyTorch program has constants where the export made them", "--set")


def contradictory(folder: Path) -> None:
    cases = [
        (put(*GRAPH, "tensor_values", {}), "nothing says the type of", "no types"),
        (put(*GRAPH, "nodes", 0, "inputs", 0, "arg", arg("y")), "nothing before it gives 'y'",
         "a name that nothing gives"),
        (put(*GRAPH, "nodes", 0, "inputs", 0, "arg", {}), "neither an argument nor a name",
         "an argument without a kind"),
        (put(*GRAPH, "nodes", 1, node("aten.arange.default", "relu", end={"as_int": 3})), "its result has 2 axes",
         "numbers in a row of two axes"),
        (put(*GRAPH, "nodes", 1, node("aten.split.Tensor", "relu", self=arg("linear"), split_size={"as_int": 1},
                                      dim={"as_int": 2})), "axis 2 of a tensor of rank 2", "an axis that is not there"),
        (lambda of: [edit(of) for edit in (
            put(*GRAPH, "tensor_values", "relu", tensor(3)),
            put(*GRAPH, "nodes", 1, node("aten.split.Tensor", "relu", self=arg("linear"), split_size={"as_int": 1},
                                         dim={"as_int": 1})))],
         "its arguments and results do not fit each other", "parts of fewer axes than the whole"),
        (put(*GRAPH, "nodes", 1, "outputs", [arg("relu"), {"as_tensors": True}]), "no list: True",
         "results that are no list"),
        (put(*GRAPH, "nodes", 1, node("aten.index.Tensor", "relu", self=arg("linear"), indices={"as_ints": [1]})),
         "the argument 'indices' is no list of tensors", "indices that are numbers"),
        (put(*GRAPH, "nodes", 3), "nodes is missing or no list", "nodes that are a number"),
        (put(*GRAPH, "nodes", [3]), "target is missing or no text", "a node that is a number"),
        (put(*GRAPH, "tensor_values", "x", "sizes", [{"as_expr": {"expr_str": "2 +"}}, {"as_int": 2}]),
         "is no expression",
         "a size that is no expression"),
        (put(*GRAPH, "nodes", 0, "inputs", 0, "arg", {"as_tensors": True}), "no list: True", "a list that is none"),
        (put("graph_module", "signature", "input_specs", 0, {"parameter": 3}), "parameter is missing or no object",
         "an input that is a number"),
        (put("graph_module", "signature", "input_specs", 2, {"user_input": "x"}), "user_input is missing or no object",
         "an input that is text"),
        (put("graph_module", "signature", "output_specs", 0, {"user_output": []}),
         "user_output is missing or no object",
         "an output that is a list"),
        (put("range_constraints", {"s0": {"min_val": 9, "max_val": 3}}), "the size s0 is in the range 9..3",
         "an empty range"),
    ]
    for edit, message, name in cases:
        refused(folder, members(edited(edit)), message, name)


def nested(deep: int) -> Json:
    """A graph in a graph in a graph …, each of which gives what it is given."""
    inner: Json = {"inputs": [arg("x")], "outputs": [arg("x")], "nodes": [], "tensor_values": {"x": tensor("s0", 3)}}
    for _ in range(deep):
        wrap = node("higher_order.wrap_with_set_grad_enabled", "y", on={"as_bool": False},
                    graph={"as_graph": {"name": "g", "graph": inner}}, x=arg("x"))
        inner = {"inputs": [arg("x")], "outputs": [arg("y")], "nodes": [wrap],
                 "tensor_values": {"x": tensor("s0", 3), "y": tensor("s0", 3)}}
    return node("higher_order.wrap_with_set_grad_enabled", "relu", on={"as_bool": False},
                graph={"as_graph": {"name": "g", "graph": inner}}, x=arg("linear"))


def wrapped(folder: Path) -> None:
    made = reader.import_file(save(folder / "m.pt2", members(edited(put(*GRAPH, "nodes", 1, nested(5))))), "m.pt2")
    tap.ok("tc_output(g, \"output\", linear);" in made.text, "wrappers that change nothing vanish")
    refused(folder, members(edited(put(*GRAPH, "nodes", 1, nested(40)))), "its graphs are nested more than 32 deep",
            "graphs within graphs within graphs")


def ranges(folder: Path) -> None:
    made = reader.import_file(save(folder / "m.pt2", members(edited(put("range_constraints", 3)))), "m.pt2")
    tap.ok("tc_output(" in made.text, "ranges that are none are as if there were none")


def unsupported(folder: Path) -> None:
    cases = [
        (put(*GRAPH, "nodes", 1, "target", "torch.ops.aten.frobnicate.default"),
         "aten.frobnicate.default: no such operation is known",
         "an operation that nobody knows"),
        (put(*GRAPH, "nodes", 1, node("aten.relu.default", "relu", self=arg("linear"), extra={"as_int": 3})),
         "aten.relu.default: the argument extra", "an argument that nobody reads"),
        (put(*GRAPH, "tensor_values", "x", tensor("u0", 2)), "a size that depends on data (u0)", "a size of data"),
        (put(*GRAPH, "tensor_values", "x", tensor(1, 2, dtype=9)), "tensors of complex32",
         "complex numbers of 16 bits"),
        (put(*GRAPH, "nodes", 1, node("aten.istft.default", "relu", self=arg("linear"))),
         "aten.istft.default: of real numbers it is not known", "real numbers where complex ones are wanted"),
    ]
    for edit, message, name in cases:
        refused(folder, members(edited(edit)), message, name)
    table = weights()
    table["config"]["fc.bias"]["use_pickle"] = True
    refused(folder, members(table=table), "the tensor 'fc.bias' is pickled", "a pickled weight")


def sizes() -> None:
    s = sym(Sym("s0", 1, 64, 1, is_dim=True))
    symbol = {"s0": s}.__getitem__
    for text, want in (("2*s0 + 1", s * 2 + 1), ("Add(Mul(Integer(2), Symbol('s0')), Integer(-1))", s * 2 - 1),
                       ("s0//4", s // 4), ("FloorDiv(Symbol('s0'), Integer(4))", s // 4),
                       ("Mod(s0, 4)", s - s // 4 * 4),
                       ("TruncToInt(Mul(Float('0.5', precision=53), ToFloat(Symbol('s0'))))", s // 2),
                       ("CeilToInt(FloatTrueDiv(ToFloat(s0), Float('1.5', precision=53)))", (s * 2 + 2) // 3),
                       ("Pow(Symbol('s0'), Integer(2))", s * s), ("CeilDiv(s0, 2)", (s + 1) // 2)):
        tap.equal(repr(expressions.parse(text, symbol)), repr(want), f"the size {text}")
    value = "tc_cast(tc_dim_value(g, TC_I64, s0), TC_F64)"
    for text, c in (("IntTrueDiv(Integer(1), s0)", "tc_div(tc_full(g, 1.0, TC_F64), {})"),
                    ("FloatPow(ToFloat(s0), Float('-0.5', precision=53))", "tc_pow({}, tc_full(g, -0.5, TC_F64))"),
                    ("OpaqueUnaryFn_sqrt(ToFloat(s0))", "tc_sqrt({})")):
        tap.equal(expressions.parse_number(text, symbol, repr), c.format(value),
                  f"the number {text}")
    for text, kind, message in (("s0/2", Unsupported, "a size of the form"),
                                ("sin(s0)", Unsupported, "a size with sin"),
                                ("s0//0", Unsupported, "a size divided by what may be 0"),
                                ("s0**9", Unsupported, "a power"),
                                ("[s0]", Malformed, "is no expression over sizes"),
                                ("1+" * 6000 + "1", Malformed, "characters"),
                                ("(" * 900 + "1" + ")" * 900, Malformed, "is no expression")):
        tap.raises(kind, lambda: expressions.parse(text, symbol), message, f"no size: {text[:20]}")


def outputs() -> None:
    def leaf() -> Json:
        return {"type": None, "context": None, "children_spec": []}

    spec = {"type": "builtins.dict", "context": '["logits", "aux"]', "children_spec": [
        leaf(), {"type": "builtins.list", "context": "null", "children_spec": [leaf(), leaf()]}]}
    tap.equal(outputs_of(json.dumps([1, spec])), ["logits", "aux_0", "aux_1"],
              "outputs have their paths as names")
    tap.equal(outputs_of(json.dumps([1, leaf()])), ["output"], "one output is called output")
    tap.equal(outputs_of("[1"), [], "a description that is broken says nothing")


with tempfile.TemporaryDirectory() as temporary:
    place = Path(temporary)
    whole(place)
    broken(place)
    contradictory(place)
    ranges(place)
    unsupported(place)
    wrapped(place)
sizes()
outputs()
tap.done()
