# SPDX-License-Identifier: Apache-2.0
"""Products by what each call widens from f16 or bf16, such as a decoder's cache: few rows read the 16 bits where they
lie."""
from __future__ import annotations

from harness import compare, module_of
from tap import done, equal
from tensor_compile.loops import layout
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.loops.program_ir import leaves
from tensor_compile.target import find, load

LOC = 'loc("m.c":1)'


def module(rows: int, terms: int, columns: int | str, dtype: str, shape: str, views: str = "", contract: int = 2,
           more: tuple[str, ...] = ()):
    """y = the sum of q[b, m, k] * w[...], w widened from `views` of c, with terms along dim `contract`."""
    lines = [f"%2 = cast(%1) {{dtype=f32}} : f32[{shape}]" if not views else f"%2 = {views}"]
    if views:
        lines.append(f"%3 = cast(%2) {{dtype=f32}} : f32[2,{terms},{columns}]" if contract == 1 else
                     f"%3 = cast(%2) {{dtype=f32}} : f32[2,{columns},{terms}]")
    b = f"%{len(lines) + 1}"
    lines.append(f"%4 = dot(%0, {b}) {{lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[{contract}], "
                 f"order=seq}} : f32[2,{rows},{columns}]")
    text = "\n".join(f"  {line} {LOC}" for line in (*lines, 'return "y" %4', *(m.format(b=b) for m in more)))
    return module_of(f'function f(%0 "q" : f32[2,{rows},{terms}] {LOC}, %1 "c" : {dtype}[{shape}] {LOC}) entry {{\n'
                     f'{text}\n}}\n', dims=("n 1:300",))


def check(name: str, given, wanted: list[str], labels: list[str], **sizes: int):
    """wanted: the dtypes of second operands; labels: of all kernels."""
    difference, program, _ = compare(given, "f", sizes)
    equal(difference, "", name)
    kernels = [s.kernel for s in leaves(program.steps)]
    equal([k.b[0].dtype for k in kernels if isinstance(k, ContractionKernel)], wanted, f"{name}: what is read")
    equal([k.label for k in kernels], labels, f"{name}: kernels")
    return program


for dtype in ("f16", "bf16"):
    for rows in (1, 3, 16):
        for n in (1, 16, 37):
            program = check(f"{n} keys of {rows} rows, {dtype}", module(rows, 24, "n", dtype, "2,n,24"), [dtype],
                            ["dot"], n=n)
            equal(program.fusions, ["dot reads columns of c where they lie, without panels"], "explain says so")
            check(f"values of {rows} rows, {n} terms, {dtype}", module(rows, 24, "n", dtype, "2,24,n", contract=1),
                  [dtype], ["dot"], n=n)
    check(f"17 rows, {dtype}", module(17, 24, "n", dtype, "2,n,24"), ["f32"], ["cast", "pack", "dot"], n=37)
    check(f"values of 17 rows, {dtype}", module(17, 24, "n", dtype, "2,24,n", contract=1), ["f32"], ["cast", "dot"],
          n=37)
    check(f"12 terms, {dtype}", module(3, 12, "n", dtype, "2,n,12"), ["f32"], ["cast", "dot"], n=37)
    check(f"apart, {dtype}", module(3, 32, "n", dtype, "n,2,32", f"transpose(%1) {{perm=[1, 0, 2]}} : {dtype}[2,n,32]"),
          [dtype], ["dot"], n=37)
    program = check(f"apart, part of a line, {dtype}",
                    module(3, 24, "n", dtype, "n,2,24", f"transpose(%1) {{perm=[1, 0, 2]}} : {dtype}[2,n,24]"),
                    [dtype], ["pack", "dot"], n=37)
    equal(program.refusals[0], ("dot without panels", "columns of 24 terms that lie 48 apart"), "explain says why")
    check(f"columns that the cast turned, {dtype}",
          module(3, 16, "n", dtype, "2,n,16", f"transpose(%1) {{perm=[0, 2, 1]}} : {dtype}[2,16,n]", 1),
          [dtype], ["dot"], n=37)
    check(f"terms that the cast turned, {dtype}",
          module(3, 16, "n", dtype, "2,16,n", f"transpose(%1) {{perm=[0, 2, 1]}} : {dtype}[2,n,16]"),
          [dtype], ["dot"], n=37)
    check(f"what is widened for others, too, {dtype}", module(3, 16, "n", dtype, "2,n,16", more=('return "z" {b}',)),
          [dtype], ["cast", "dot"], n=37)
    for target in ("x86_64", "riscv64"):
        function = layout.apply(module(3, 16, "n", dtype, "2,n,16").functions["f"], load(find(target)))
        (dot,) = [node for node in function.nodes if node.op == "packed_dot"]
        equal(dot.operands[1].dtype, dtype if target == "x86_64" else "f32",
              f"{target}: {dtype} where all sets have vectors")
done()
