# SPDX-License-Identifier: Apache-2.0
"""Every message of the interpreter: texts and nodes with one mistake each, files and command lines."""
from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import st
from tap import done, note, ok

START = 'tensor_compile.graph 1\nmodel "m"\n'
# x f32[2,3], y f32[3], i i64[2], p bool[], z f32[0,3], t bool[2]
HEAD = ('function f(%0 "x" : f32[2,3], %1 "y" : f32[3], %2 "i" : i64[2], %3 "p" : bool[], %4 "z" : f32[0,3], '
        '%5 "t" : bool[2]) entry {\n')
INPUTS = {"x": ("F32", [2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), "y": ("F32", [3], [1.0, 2.0, 3.0]),
          "i": ("I64", [2], [0, 1]), "p": ("BOOL", [], [True]), "z": ("F32", [0, 3], []),
          "t": ("BOOL", [2], [True, False])}
CONV = "{stride=[1], low=[0], high=[0], dilation=[1], groups=1}"
DOT = "{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq}"
WINDOW = "{op=max, size=[2], stride=[1], low=[0], high=[0], dilation=[1]}"
ONES = "[" + "1, " * 13 + "1]"
BIG = "4611686018427387904"

# (a node behind the parameters, what is said about it)
NODES = [
    ("add(%0, %1) : f32[2,3]", "add: operands of different shapes"),
    ("select(%2, %2, %2) : i64[2]", "select: operands of different dtypes"),
    ("exp(%2) : i64[2]", "exp: not defined for i64"),
    ("cast(%0) {dtype=f8} : f32[2,3]", "cast: unknown dtype 'f8'"),
    ("bitcast(%0) {dtype=f8} : f32[2,3]", "bitcast: unknown dtype 'f8'"),
    ("bitcast(%0) {dtype=i64} : i64[2,3]", "bitcast: not defined for f32"),
    ("neg(%0) : f32[3,2]", "neg: the value is f32[2,3], the declared type is f32[3,2]"),
    ("constant() {bits=0x00000000} : f32[2]", "constant: its rank is 0"),
    (f'extern_call({", ".join(["%0"] * 17)}) {{function="f", takes=""}} : f32[2]',
     "extern_call: more than 16 operands or results"),
    ('extern_call(%0) {function="f", takes="f32"} : f32[2]',
     "extern_call: the function f is one of your program, which the interpreter cannot run"),
    ("iota() {axis=1} : i64[2]", "iota: no such axis: 1"),
    ("iota() {axis=0} : f32[2]", "iota: its dtype is i32 or i64"),
    ("dim_value() {value=[1, 2]} : i64[]", "dim_value: a list of 2 expressions where 1 are needed"),
    ("dim_value() {value=[floordiv(n, n - n)]} : i64[]", "division by zero in a dim expression"),
    (f"dim_value() {{value=[{BIG}*{BIG}]}} : i64[]", "overflow in a dim expression"),
    ("iota() {axis=0} : i64[-2]", "a dim is negative: -2"),
    ("iota() {axis=0} : i64[" + BIG + "]", "a tensor is too large"),
    ("broadcast(%1) {shape=[2, 3], axes=[0, 1]} : f32[2,3]", "broadcast: axes do not fit the operand"),
    ("broadcast(%1) {shape=[2, 3], axes=[2]} : f32[2,3]", "broadcast: axes are not ascending dims of the result"),
    ("broadcast(%1) {shape=[2, 4], axes=[1]} : f32[2,4]", "broadcast: dim 0 of the operand is 3, neither 1 nor 4"),
    ("reshape(%0) {shape=[" + "1, " * 15 + "2, 3]} : f32[2,3]", "reshape: more than 16 dims"),
    (f"reshape(%0) {{shape=[{BIG}, 4]}} : f32[{BIG},4]", "reshape: overflow in the shape"),
    ("reshape(%0) {shape=[7]} : f32[7]", "reshape: 6 elements become 7"),
    ("transpose(%0) {perm=[0]} : f32[2,3]", "transpose: perm does not fit the operand"),
    ("transpose(%0) {perm=[0, 0]} : f32[2,3]", "transpose: perm is not a permutation"),
    ("slice(%0) {start=[0, 2], size=[2, 2], stride=[1, 1]} : f32[2,2]", "slice: reaches outside of the operand"),
    ("pad(%0, %1) {low=[0, 0], high=[0, 0]} : f32[2,3]", "pad: the value is no scalar of the operand's dtype"),
    ("pad(%5, %3) {low=[-1], high=[0]} : bool[1]", "pad: low or high is negative or too large"),
    ("concat() {axis=0} : f32[2,3]", "concat: no such axis: 0"),
    ("concat(%0, %1) {axis=0} : f32[5,3]", "concat: operand 1 does not fit the first"),
    ("gather(%0, %2) {axis=2} : f32[2,2]", "gather: no such axis, or too many dims"),
    ("gather(%0, %1) {axis=0} : f32[3,3]", "gather: indices are i32 or i64, not f32"),
    ("update_slice(%0, %1) {start=[0, 0]} : f32[2,3]", "update_slice: operands of different rank or dtype"),
    ("reduce(%0) {op=sum, axes=[0], order=free} : f32[3]", "reduce: sum of f32 has no order 'free'"),
    ("reduce(%0) {op=max, axes=[1, 0], order=free} : f32[]", "reduce: axes are not ascending dims of the operand"),
    ("reduce(%0) {op=product, axes=[0], order=free} : f32[3]", "reduce: no reduction 'product' of f32"),
    ("reduce_where(%0, %5) {op=sum, axes=[0], order=lanes} : f32[3]",
     "reduce_where: the predicate is no bool of the operand's shape"),
    ("arg_reduce(%0) {op=sum, axis=0} : i64[3]", "arg_reduce: no 'sum' of f32"),
    ("arg_reduce(%4) {op=max, axis=0} : i64[3]", "arg_reduce: no such axis, or an empty one: 0"),
    ("window_reduce(%0) " + WINDOW.replace("max", "all") + " : f32[2,2]", "window_reduce: no 'all' of f32"),
    ("window_reduce(%0) " + WINDOW.replace("low=[0]", "low=[]") + " : f32[2,2]",
     "window_reduce: attributes of different lengths"),
    ("window_reduce(%0) " + WINDOW.replace("stride=[1]", "stride=[0]") + " : f32[2,2]",
     "window_reduce: the window does not fit dim 1"),
    ("dot(%0, %2) " + DOT + " : f32[2]", "dot: operands are no numbers of one dtype"),
    ("dot_where(%0, %1, %5) " + DOT + " : f32[2]",
     "dot_where: no sum in order seq with a predicate of the first operand's shape"),
    ("dot(%0, %1) " + DOT.replace("seq", "free") + " : f32[2]", "dot: f32 has no order 'free'"),
    ("dot(%0, %1) " + DOT.replace("[0]", "[]") + " : f32[2]", "dot: batch and contracted dims do not pair"),
    ("dot(%0, %1) " + DOT.replace("lhs_batch=[], rhs_batch=[]", "lhs_batch=[0], rhs_batch=[0]").replace("[1]", "[]")
     .replace("rhs_contract=[0]", "rhs_contract=[]") + " : f32[2]", "dot: batch dims differ"),
    ("dot(%1, %0) " + DOT.replace("[1]", "[0]") + " : f32[3]", "dot: contracted dims differ: 3 and 2"),
    ("dot(%8, %8) {lhs_batch=[], rhs_batch=[], lhs_contract=[], rhs_contract=[], order=seq} : f32[2]",
     "dot: more than 16 dims"),
    ("convolution(%0, %1) " + CONV + " : f32[2,3]",
     "convolution: operands are no tensors of numbers of one dtype and rank of 2 or more"),
    ("convolution(%0, %0) " + CONV + " : f32[2,2]", "convolution: attributes do not fit the rank"),
    ("convolution(%7, %7) " + CONV.replace("groups=1", "groups=2") + " : f32[2,3]",
     "convolution: channels and groups do not fit"),
    ("convolution(%8, %8) " + CONV.replace("[1]", ONES).replace("[0]", ONES.replace("1", "0")) +
     " : f32[1,1]", "convolution: too many dims"),
    ("convolution(%7, %7) " + CONV.replace("dilation=[1]", "dilation=[0]") + " : f32[1,1,1]",
     "convolution: the window does not fit spatial dim 0"),
    ("scatter(%0, %1, %0) {op=add, axis=0} : f32[2,3]", "scatter: no such axis, or no integer indices"),
    ("scatter(%0, %2, %1) {op=add, axis=0} : f32[2,3]",
     "scatter: the values do not have the shape of what is read there"),
    ("cumulative(%0) {op=any, axis=0, reverse=0} : f32[2,3]", "cumulative: no such axis, or no 'any' of f32"),
    ("sort(%0) {axis=0, count=[5], descending=0} : (f32[5,3], i64[5,3])",
     "sort: no such axis, too many elements, or no order of f32"),
    ("reduce(%5) {op=prod, axes=[0], order=free} : bool[]", "reduce: no product of bool, or no memory"),
    ("packed() {name=\"c0\"} : f32[2]", "packed: made by a later stage; the interpreter does not run it"),
    ("weight() {name=\"w\"} : f32[2]", 'weight "w" is not declared'),
    ("call(%0) {callee=@nothing, prefix=\"\"} : f32[2,3]", "call: no function 'nothing'"),
    ("call(%0, %1) {callee=@same, prefix=\"\"} : f32[2,3]",
     "call: 'same' has 1 parameters and 1 results, not 2 and 1"),
    ("cond() {then=@same, else=@same} : f32[2,3]", "cond: no condition"),
    ("cond(%1, %0) {then=@same, else=@same} : f32[2,3]", "cond: the condition is not bool[]"),
    ("while(%0, %1) {test=@same, body=@same} : f32[2,3]", "while: it has as many results as operands"),
    ("scan(%0) {body=@same, length=[2], carries=3} : f32[2,3]", "scan: no 3 carries and 2 steps"),
    ("scan(%0) {body=@row, length=[4], carries=0} : f32[4,3]", "scan: operand 0 has not 4 parts along axis 0"),
    ("scan(%0) {body=@row, length=[2], carries=0} : f32[3,3]", "scan: result 0 has not 2 parts along axis 0"),
    ("scan(%0) {body=@row, length=[2], carries=0} : f32[2,4]",
     "scan: result 0 of the body does not fit the declared stack"),
    # and what is no node at all
    ("noise(%0) : f32[2,3]", "unknown primitive 'noise'"),
    ("neg(%0, %1) : f32[2,3]", "neg has 1 operands, not 2"),
    ("neg(%0) : (f32[2,3], f32[2,3])", "neg has 1 result, not 2"),
    ("neg(%0) {x=1} : f32[2,3]", "neg: unknown attribute 'x'"),
    ("iota() {axis=0, axis=0} : i64[2]", "iota: repeated attribute 'axis'"),
    ("iota() : i64[2]", "iota: attribute 'axis' is missing"),
    ("iota() {axis=a} : i64[2]", "an integer is expected"),
    ("constant() {bits=1} : f32[]", "bits are expected as 0x..."),
    ("constant() {bits=0x} : f32[]", "1 to 16 hexadecimal digits are expected after 0x"),
    ("neg(%99) : f32[2,3]", "%99.0 is not defined here"),
    ("neg(x) : f32[2,3]", "a value (%N) is expected"),
    ("neg(%0) : f7[2,3]", "unknown dtype 'f7'"),
    ("neg(%0) : f32[" + "1," * 16 + "1]", "more than 16 dims"),
    ("neg(%0) : f32[m]", "unknown dim 'm'"),
    ("neg(%0) : f32[" + "1+" * 5000 + "1]", "a dim expression of more than "),
    ("neg(%0) ; f32[2,3]", "':' is expected"),
    ("weight() {name=3} : f32[2]", "a name is expected as a quoted string"),
    ("neg(%0) : 3", "a dtype is expected"),
    ("neg(%0) : f32[99999999999999999999]", "a number beyond 64 bits"),
    ("neg(%) : f32[2,3]", "a number is expected after '%'"),
    ("weight() {name=\"a} : f32[2]", "a string without an end"),
    ("weight() {name=\"a\0\"} : f32[2]", "a zero byte in a string"),
    ("weight() {name=\"a\\t\"} : f32[2]", "unknown escape in a string; \\\", \\\\ and \\n exist"),
    ("neg(%0) \x7f", "unexpected byte 0x7f"),
]
# (lines behind the node, message) and (a whole text, message)
ENDINGS = [
    ('guard "g" n 2', "'==' or '>=' is expected"),
    ('assign "s" %0', 'assign: no state "s"'),
    ("%50 = neg(%0) : f32[2,3]", "%10 is expected: values are numbered in order"),
]
TEXTS = [
    ("nonsense", "'tensor_compile.graph' is expected"),
    ("tensor_compile.graph 2", "version 1 of the graph text is expected"),
    (START + "tree", "dim, file, weight, state or function is expected"),
    (START + "dim n range=4:2 divisor=1 specialize=[]", "dim 'n': the range or the divisor makes no sense"),
    (START + 'file 1 "a"', "files are numbered in order"),
    (START + 'weight "w" : f32[2] file=0', 'weight "w": no such file'),
    (START + "function f() {\n}\nfunction f() {\n}", "function 'f' is defined twice"),
    # names are found in constant time: one by one, this text would take minutes
    (START + "".join(f"dim d{i} range=0:9 divisor=1 specialize=[]\n" for i in range(200_000))
     + "".join(f'function f{i}(%0 : f32[d{i}]) {{ return "y" %0 }}\n' for i in range(200_000)) + "tree",
     "dim, file, weight, state or function is expected"),
]
SAFETENSORS = [   # the others: tests/runtime/test_safetensors.c
    (b"1234", "not a safetensors file: 4 bytes"),
    ('{"a":{"dtype":"F7"}}', '"a" has the unknown dtype "F7"'),
]


def main(interpret: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph, inputs, out = folder / "g.tcg", folder / "in.safetensors", folder / "out.safetensors"
        st.write(inputs, INPUTS)

        def fails(message: str, *arguments: str | Path, code: int = 1) -> None:
            result = subprocess.run([interpret, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                                    check=False, timeout=60)
            shown = message.replace("\n", " ")
            if not ok(result.returncode == code and message in result.stderr and "error: " in result.stderr, shown):
                note(f"exit {result.returncode}: {result.stderr}")

        def run(text: str, message: str, *more: str | Path) -> None:
            graph.write_bytes(text.encode())
            fails(message, graph, "--function", "f", "--inputs", inputs, "--out", out, "--dims", "n=2", *more)

        functions = ('dim n range=0:4 divisor=1 specialize=[]\n'
                     'function same(%0 "x" : f32[2,3]) {\n  return "y" %0\n}\n'
                     'function row(%0 "x" : f32[3]) {\n  return "y" %0\n}\n')
        axes = "1, " * 15 + "3"
        made = ("  %6 = neg(%0) : f32[2,3]\n  %7 = reshape(%0) {shape=[1, 3, 2]} : f32[1,3,2]\n"
                f"  %8 = reshape(%1) {{shape=[{axes}]}} : f32[{axes}]\n")
        for node, message in NODES:
            run(START + functions + HEAD + made + f"  %9 = {node}\n  return \"r\" %9\n}}\n", message)
        for line, message in ENDINGS:
            run(START + functions + HEAD + made + f"  %9 = neg(%0) : f32[2,3]\n  {line}\n  return \"r\" %9\n}}\n",
                message)
        for text, message in TEXTS:
            run(text, message)

        good = START + functions + HEAD + '  return "r" %0\n}\n'
        for given in ("n", "n=", "n=x"):
            graph.write_text(good, encoding="utf-8")
            fails("--dims: error: 'n=N' is expected", graph, "--function", "f", "--out", out, "--dims", given)
        run(good, "no weight and no result 'q'", "--check-finite", "q")
        run(good, "cannot be written: Is a directory", "--out", folder)
        fails("cannot be read: Is a directory", folder, "--list")
        run(good, "is not a regular file", "--inputs", folder)
        run(good, "none: error: cannot be opened: No such file or directory", "--inputs", folder / "none")
        fails("no graph is named", code=2)
        fails("a second graph: b", "a", "b", code=2)
        fails("a value is missing after --out", "a", "--out", code=2)
        fails("one of --out, --pack and --state-out is needed", "a", "--function", "f", code=2)
        for content, message in SAFETENSORS:
            raw = content if isinstance(content, bytes) else struct.pack("<Q", len(content)) + content.encode()
            (folder / "bad").write_bytes(raw)
            run(good, message, "--inputs", folder / "bad")
        twice = '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        (folder / "bad").write_bytes(struct.pack("<Q", len(twice)) + twice.encode() + bytes(4))
        run(good, '"b" overlaps another tensor', "--inputs", folder / "bad")
    done()


main(sys.argv[1])
