# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels, emulated on the processor, have the bits of the processor's: nests and contractions of every form that
the tests of those have, in both orders of threads; of nests that differ in sizes alone every third one, or --all of
them. Arguments: words of names, to run those cases alone."""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import emulation
import sums
import wide_nests
from emulation import ROOT

for area in ("nests", "kernels"):
    sys.path.insert(0, str(ROOT / "tests" / area))

from importlib import util

from tap import done, skip
from tensor_compile.compile.toolchain import EXACT
from tensor_compile.emit.cuda import kernels as cuda_kernels
from tensor_compile.emit.cuda.half import emit_half, is_lined
from tensor_compile.emit.kernels import PLACE, KernelSource, emit_plain, named
from tensor_compile.graph.dtypes import DTYPES
from tensor_compile.loops import schedule_cuda, tile_limits
from tensor_compile.loops.bulk_copies import BulkCopy, tensor_maps
from tensor_compile.loops.column_pairs import Halves
from tensor_compile.loops.few_rows import FewRows
from tensor_compile.loops.kernel_interface import changed, grouped, loop_nest, prepared
from tensor_compile.loops.line_tiles import LineTile, come_in_lines
from tensor_compile.loops.loop_ir import ContractionKernel, Kernel, Phase, PreparedKernel, RowReduce, Store
from tensor_compile.loops.narrow import Change, rounded
from tensor_compile.loops.scalar_ir import Acc, Apply, Buffer, Load, Local
from tensor_compile.loops.schedule_cuda import Tile, Units
from tensor_compile.loops.schedule_half import HalfTile
from tensor_compile.loops.scalars import extent
from tensor_compile.symbolic import Expr, Sym, const, sym


def module(area: str):
    """tests/<area>/cases.py: both areas call theirs so."""
    spec = util.spec_from_file_location(f"{area}_cases", ROOT / "tests" / area / "cases.py")
    found = util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


def zeros(kernel: Kernel) -> str:
    """What the first operand has to be where its predicate is false (loop_ir.Contraction)."""
    limit = tile_limits.of_terms(kernel) if isinstance(kernel, ContractionKernel) else None
    return f"{extent(kernel.k[0]).value}, {limit.substitute({kernel.m[0]: 0}).value}" if limit is not None else "0, 0"


@dataclass
class Case:
    name: str
    kernel: Kernel
    sizes: dict[Sym, int]
    below: int = 5
    extreme: bool = False
    tile: HalfTile | None = None         # in place of the one that is estimated to be the best
    portable: bool = False               # what chips have that come after the tile's
    units: Units = schedule_cuda.EXACT   # with others, numbers are integers that every order of a sum gives the same bits for


def contractions() -> list[Case]:
    forms = module("kernels")
    m, n, k, b = (forms.dim(name) for name in "mnkb")
    out = [Case(f"matmul {x} x {y} x {z}", forms.matmul(x, y, z), {})
           for x, y, z in ((1, 16, 1), (3, 33, 20), (64, 64, 16), (70, 130, 50), (200, 10, 3))]
    out += [Case("matmul in place", forms.matmul(20, 70, 33, panel=0), {}),
            Case("matmul batched, residual", forms.matmul(17, 40, 9, batch=3, residual=True), {}),
            Case("matmul transposed", forms.matmul(40, 24, 65, transposed=True), {})]
    out += [Case("columns of two variables", forms.heads(20, 3, 8, 12), {}),
            Case("columns of two variables, many", forms.heads(70, 6, 24, 40), {})]
    out += [Case("two sums a point", forms.sums(20, 70, 33, 2), {}),
            Case("three sums in place", forms.sums(3, 20, 9, 3, 0), {})]
    out += [Case("terms left out by a predicate", forms.predicated(50, 40, 70, given=False), {}, extreme=True),
            Case("columns left out", forms.causal(50, 140, 20), {}, extreme=True)]
    out += [Case("side by side", forms.siblings(20, 33, (70, 16, 5, 64)), {}),
            Case("side by side, dynamic", forms.siblings(sym(m), 9, (24, sym(n))), {m: 3, n: 80})]
    for rows, columns, terms in ((1, 1, 1), (5, 100, 40), (65, 20, 17)):
        sizes = {m: rows, n: columns, k: terms, b: 2}
        whole = forms.matmul(sym(m), sym(n), sym(k), batch=sym(b))
        out.append(Case(f"matmul dynamic {rows} x {columns} x {terms}", whole, sizes))
    for form in (dict(pad=1), dict(pad=2, stride=2), dict(pad=2, dilation=2), dict(groups=2),
                 dict(pad=1, planar_in=True), dict(pad=1, planar_out=True)):
        name = ", ".join(f"{key} {value}" for key, value in form.items())
        out.append(Case(f"convolution, {name}", forms.convolution(2, 8, 9, 7, 34, (3, 3), **form), {}))
    out.append(Case("convolution dynamic", forms.convolution(sym(b), 4, sym(m), 6, 20, (3, 2), pad=1),
                    {b: 2, m: 11}))
    return out


def in_tiles() -> list[Case]:
    """Tiles whose columns no power of two parts, and columns that lie one by one."""
    forms = module("kernels")
    found = {96: replace(forms.matmul(70, 200, 50), shape=Tile(64, 96, 16, 8, 6)),
             48: replace(forms.matmul(65, 90, 33, panel=0), shape=Tile(64, 48, 16, 4, 6)),
             32: replace(forms.siblings(20, 40, (100, 50)), shape=Tile(32, 96, 16, 4, 6))}
    return [Case(f"tiles, {name}", kernel, {}) for name, kernel in found.items()]


def in_lines() -> list[Case]:
    """Exact contractions whose operands one warp brings. There are so many rows that all of a thread's are stored."""
    forms = module("kernels")
    m = forms.dim("m")
    found = {"residual": (forms.matmul(33, 70, 256, residual=True), LineTile(16, 48, 32, 2, 6)),
             "rows that dims decide": (forms.matmul(sym(m), 40, 256), LineTile(16, 48, 64, 4, 2, ahead=True)),
             "panels in two tiles": (forms.matmul(40, 170, 256), LineTile(32, 72, 32, 4, 6)),
             "in place": (forms.matmul(35, 100, 320, panel=0), LineTile(32, 96, 32, 8, 4, ahead=True)),
             "in place, batched": (forms.matmul(70, 40, 256, panel=0, batch=2), LineTile(48, 64, 32, 6, 4)),
             "side by side": (forms.siblings(66, 256, (100, 50)), LineTile(64, 48, 32, 8, 4)),
             "two sums": (forms.sums(20, 70, 256, 2), LineTile(16, 48, 32, 2, 4)),
             "one left of nine": (forms.matmul(130, 80, 256), LineTile(128, 72, 32, 8, 9)),
             "256 threads": (forms.matmul(130, 100, 256), LineTile(128, 128, 32, 8, 8)),
             "predicate": (forms.predicated(40, 68, 256, given=False), LineTile(48, 64, 32, 6, 4))}
    return [Case(f"lines, {name}", replace(kernel, shape=tile), {m: 21} if kernel.dims else {}, extreme=name == "predicate",
                 units=Units("f32", True, True))
            for name, (kernel, tile) in found.items() if come_in_lines(kernel) or sys.exit(f"{name}: no lines")]


def nests() -> list[Case]:
    found = module("nests").all_cases()
    if "--all" not in sys.argv:
        found = thinned(found)
    return [Case(c.name, c.kernel, c.sizes, c.below, c.extreme) for c in found] + \
        [Case(c.name, c.kernel, {}) for c in sums.CASES] + \
        [Case(f"{c.name}, bf16", c.kernel, {}, units=Units("bf16")) for c in wide_nests.NESTS] + \
        [Case(c.name, c.kernel, {}) for c in wide_nests.overwritten()]


def thinned(found: list) -> list:
    """Of cases whose names differ in numbers alone the last one, which is the largest, and every third before it."""
    before: dict[str, int] = {}
    chosen = []
    for case in reversed(found):
        form = re.sub(r"\b\d+\b", "", case.name)
        number = before[form] = before.get(form, -1) + 1
        if number % 3 == 0:
            chosen.append(case)
    return chosen[::-1]


def halved(kernel: Kernel, dtype: str, which: str) -> Kernel:
    """The kernel with operands of 16 bits: the first one, the second ones or both; and what it stores."""
    chosen = {x.buffer for part in kernel.contractions for x in ((part.a,) if which in "ac" else ()) +
              (part.b if which in "bc" else ())} | {s.buffer for s in kernel.stores}
    buffers = {b.name: replace(b, dtype=dtype) if b.name in chosen else b for b in kernel.params}
    return Change(buffers, dict.fromkeys(chosen, rounded(dtype))).kernel(kernel)


def with_others(kernel: ContractionKernel, half: int) -> ContractionKernel:
    """From every result that of the column `half` further or before is taken."""
    (b,), (store,), halves = kernel.b, kernel.stores, Halves(kernel.n[0], half)
    other = Load(b.buffer, b.dtype, tuple(map(halves.other, b.index)))
    stored = Store(store.buffer, store.index, Apply("sub", "f32", (store.value, Acc("f32", 1))))
    return changed({x.name: x for x in kernel.params}, kernel, b=(b, other), stores=(stored,))


def on_matrix_units() -> list[Case]:
    """The contractions that these units do, in each precision."""
    out = []
    forms = module("kernels")
    more = [Case("wide", forms.matmul(150, 200, 136), {}), Case("wide in place", forms.matmul(130, 200, 136, panel=0), {}),
            Case("wide, batched", forms.matmul(66, 264, 72, batch=2, residual=True), {}),
            Case("wide side by side", forms.siblings(140, 72, (72, 256)), {}),
            Case("wide, two sums", forms.sums(130, 136, 80, 2, 0), {})]
    for i, case in enumerate([*contractions(), *more]):
        if schedule_cuda.tile(case.kernel, Units("tf32")).matrix:
            out.append(replace(case, name=f"{case.name}, tf32", units=Units("tf32")))
        dtype, which = schedule_cuda.NARROW[i % 2], "acb"[i % 3]
        narrow = replace(case, kernel=halved(case.kernel, dtype, which), name=f"{case.name}, {dtype} {which}")
        for wgmma in (False, True):
            units = Units(dtype, wgmma)
            if getattr(schedule_cuda.tile(narrow.kernel, units), "wgmma", False) == wgmma:
                out.append(replace(narrow, name=narrow.name + ", wgmma" * wgmma, units=units))
    return out


def lines_of_terms() -> list[Case]:
    """Contractions whose second operands lie as --precision packs them: of few rows, and with so many terms that the
    blocks of a cluster share a tile."""
    forms = module("kernels")
    few = [Case("1 row", forms.matmul(1, 70, 2120, panel=1), {}),
           Case("3 rows, residual", forms.matmul(3, 33, 136, panel=1, residual=True), {}),
           Case("2 rows, two sums", forms.sums(2, 40, 264, 2, 1), {}),
           Case("4 rows, one of one store", forms.matmul(4, 9, 520, panel=1, transposed=True), {}),
           Case("1 row, side by side", forms.siblings(1, 600, (24, 16, 5), 1), {}),
           Case("1 row, pairs of columns", with_others(forms.matmul(1, 64, 2056, panel=1, residual=True), 16), {}),
           Case("3 rows, pairs of columns", with_others(forms.matmul(3, 40, 136, panel=1), 4), {}),
           Case("3 rows, terms of a column parted",
                replace(forms.matmul(3, 41, 1000, panel=1, residual=True), shape=FewRows(3, 1000, 8, 8, 3, 3, parted=4)), {}),
           Case("2 rows, two sums parted",
                replace(forms.sums(2, 40, 520, 2, 1), shape=FewRows(2, 520, 4, 4, 6, 6, parted=2)), {}),
           Case("1 row, more warps than terms", replace(forms.matmul(1, 9, 136, panel=1),
                                                        shape=FewRows(1, 136, 8, 8, 3, 3, parted=8)), {}),
           Case("1 row, pairs side by side", grouped("siblings", tuple(
               with_others(part, 8) if i < 2 else part for i, part in
               enumerate(forms.siblings(1, 264, (96, 32, 21), 1).contractions))), {})]
    split = [Case("long sums", forms.matmul(20, 72, 1032, panel=1, residual=True), {}),
             Case("long sums, two", forms.sums(17, 64, 776, 2, 1), {}),
             Case("long sums, side by side", forms.siblings(33, 520, (72, 40), 1), {}),
             Case("long sums, columns apart", forms.matmul(18, 25, 648, panel=1), {})]
    tiles = (HalfTile(64, 64, 16, 64, 60, wgmma=True, split=4), HalfTile(32, 32, 16, 16, 35, 2, split=2),
             HalfTile(64, 128, 16, 128, 70, wgmma=True, split=2), HalfTile(16, 16, 16, 16, 20, 4, split=8))
    bulk = [Case("both operands", given(forms.matmul(150, 200, 328, panel=1, residual=True)), {}),
            Case("second operands alone", forms.sums(130, 72, 136, 2, 1), {}),
            Case("side by side", given(forms.siblings(70, 200, (72, 136), 1)), {}),
            Case("several tiles a block", given(forms.matmul(650, 260, 72, panel=1)), {})]
    wide = (HalfTile(128, 64, 16, 64, 70, wgmma=True), HalfTile(64, 128, 16, 128, 70, wgmma=True),
            HalfTile(64, 64, 16, 64, 60, wgmma=True, split=2), HalfTile(64, 64, 16, 64, 60, wgmma=True))
    stay = [Case("in blocks that stay", given(forms.matmul(650, 260, 648, panel=1, residual=True)), {}),
            Case("in blocks that stay, two tiles wide", given(forms.matmul(650, 520, 200, panel=1)), {}),
            Case("in blocks that stay, side by side", given(forms.siblings(300, 200, (72, 136), 1)), {}),
            Case("in blocks that stay, two sums", given(forms.sums(300, 200, 136, 2, 1)), {}),
            Case("in blocks that stay, columns apart", given(forms.matmul(400, 201, 72, panel=1)), {}),
            Case("in blocks that stay, three groups", given(forms.matmul(650, 456, 328, panel=1, residual=True)), {}),
            Case("in blocks that stay, three groups, columns apart", given(forms.matmul(400, 201, 72, panel=1)), {}),
            Case("in blocks that stay, rows that begin anywhere",
                 given(forms.matmul(150, 401, 72, panel=1, bias=False)), {}),
            Case("in blocks that stay, three groups, rows that begin anywhere",
                 given(forms.matmul(200, 203, 72, panel=1, bias=False)), {})]
    bulk_tiles = (HalfTile(128, 128, 16, 128, 85, wgmma=True, bulk=True),
                  HalfTile(128, 256, 16, 256, 85, wgmma=True, bulk=True),
                  HalfTile(128, 192, 16, 192, 85, wgmma=True, bulk=True),
                  HalfTile(128, 128, 16, 128, 85, wgmma=True, bulk=True),
                  HalfTile(128, 128, 16, 128, 85, wgmma=True, bulk=True),
                  HalfTile(192, 192, 16, 192, 85, wgmma=True, bulk=True, staging=False),
                  HalfTile(192, 192, 16, 192, 85, wgmma=True, bulk=True),
                  HalfTile(128, 256, 16, 256, 85, wgmma=True, bulk=True),
                  HalfTile(192, 192, 16, 192, 85, wgmma=True, bulk=True))
    out = []
    for form, cases, chosen in (("few rows", few, ()), ("split", split, tiles), ("bulk copies", bulk + stay,
                                                                                wide + bulk_tiles)):
        for i, case in enumerate(cases):
            dtype = schedule_cuda.NARROW[i % 2]
            units, kernel = Units(dtype, True), halved(case.kernel, dtype, "c" if form == "bulk copies" else "bc"[i % 2])
            if form == "few rows" and not kernel.shape:
                few = [s for s in schedule_cuda.shapes(kernel, units) if isinstance(s, FewRows)]
                kernel = replace(kernel, shape=few[i % len(few)])
            out.append(replace(case, kernel=kernel, name=f"{form}: {case.name}, {dtype}", units=units,
                               tile=chosen[i] if chosen else None))
            assert form != "bulk copies" or tensor_maps(kernel, chosen[i]), case.name
            assert is_lined(kernel.contractions[0]) == ("begin anywhere" in case.name), case.name
            if chosen and chosen[i].bulk:
                out.append(replace(out[-1], name=f"{out[-1].name}, portable", portable=True))
    return out


def prepared_rows() -> list[Case]:
    """Products of few rows, whose kernels make the rows: what is largest in a row, and then all of it."""
    forms, out = module("kernels"), []
    for m, k, products in ((1, 2056, 1), (3, 136, 2)):
        made = halved(forms.siblings(m, k, (24, 17)[:products], 1) if products > 1 else
                      forms.matmul(m, 70, k, panel=1, residual=True), "bf16", "c")
        own = made.contractions[0].a
        row, a, b = Sym("row", 0, m - 1), Sym("a", 0, k - 1), Sym("b", 0, k - 1)
        buffers = {x.name: replace(x, kind="temp") if x.name == own.buffer else x for x in given(made).params} | {
            "x": Buffer("x", "bf16", (const(m), const(k)), (0, 1), "temp"),
            "w": Buffer("w", "f32", (const(k),), (0,), "packed")}
        made = Change(buffers, {}).kernel(made)
        first, again = (Apply("cast", "f32", (Load("x", "bf16", (sym(row), sym(s))),)) for s in (a, b))
        value = Apply("add", "f32", (Apply("mul", "f32", (again, Load("w", "f32", (sym(b),)))), Local("s", "f32")))
        nest = loop_nest(buffers, "norm", (row,), (
            Phase((a,), (RowReduce("s", "max", "free", first, "f32"),)),
            Phase((b,), (), (Store(own.buffer, (sym(row), sym(b)), Apply("cast", "bf16", (value,))),))))
        out.append(Case(f"few rows: made in the kernel, {m}", prepared(nest, made), {}, units=Units("bf16", True)))
    return out


def one_by_one(kernel: PreparedKernel) -> KernelSource:
    """The two parts, one after the other."""
    parts, names = [emit_plain(part, "scalar") for part in (kernel.rows, kernel.contraction)], [b.name for b in kernel.params]
    calls = [f"    {source.symbol}((void *const[]){{{', '.join(f'p[{names.index(b.name)}]' for b in part.params)}}}, "
             "d, thread, threads);" for source, part in zip(parts, (kernel.rows, kernel.contraction))]
    return named(kernel, "scalar", "\n".join([
        *(source.text for source in parts),
        f"void {PLACE}(void *const *p, const ptrdiff_t *d, ptrdiff_t thread, ptrdiff_t threads)", "{", *calls, "}"]))


def given(kernel: Kernel) -> Kernel:
    """The kernel with a first operand that another one has made."""
    names = {part.a.buffer for part in kernel.contractions}
    return replace(kernel, params=tuple(replace(b, kind="temp") if b.name in names else b for b in kernel.params))


def words(m: BulkCopy) -> tuple[Expr, ...]:
    return m.offset, m.terms, m.lines, m.stride


cxx = emulation.compiler()
if cxx is None:
    skip("emulated kernels", "no C++ compiler")
    done()

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    rows, plain, declared, asked = [], {}, {}, [word for word in sys.argv[1:] if word != "--all"]
    cases = [*nests(), *contractions(), *in_tiles(), *in_lines(), *on_matrix_units(), *lines_of_terms(),
             *prepared_rows()]
    for i, case in enumerate(c for c in cases if not asked or any(word in c.name for word in asked)):
        kernel = case.kernel
        cpu = one_by_one(kernel) if isinstance(kernel, PreparedKernel) else emit_plain(kernel, "scalar")
        gpu = cuda_kernels.emit_kernel(kernel, case.units)
        own = {s.buffer for s in kernel.rows.stores} if isinstance(kernel, PreparedKernel) else set()
        launch = schedule_cuda.launch(kernel, False, case.units)
        if case.tile:
            text = emit_half(kernel, PLACE, case.units.precision, case.tile)
            gpu = named(kernel, cuda_kernels.ISA, "#define TC_PORTABLE\n" * case.portable + text)
            launch = schedule_cuda.tiled(kernel, case.tile)
        plain[cpu.symbol] = cpu.text
        (folder / f"{gpu.symbol}.cu").write_text(gpu.text, encoding="utf-8")
        declared[cpu.symbol] = f'extern "C" cpu_kernel {cpu.symbol};'
        declared[gpu.symbol] = f'extern "C" emulated_kernel {gpu.symbol};'
        buffers = []
        for b in kernel.params:
            kind = {"bf16": "h", "f16": "e"}.get(b.dtype) or {"float": "f", "bool": "b"}.get(DTYPES[b.dtype].kind, "i")
            buffers.append(f"{{'{kind}', {DTYPES[b.dtype].bytes}, {b.elements.evaluate(case.sizes)}, "
                           f"{str(b.kind == 'scratch' or b.name in own).lower()}}}")
        dims = ", ".join(str(case.sizes[d]) for d in kernel.dims) or "0"
        declared[f"b{i}"] = f"static const case_buffer buffers{i}[] = {{{', '.join(buffers)}}};\n" \
                            f"static const ptrdiff_t dims{i}[] = {{{dims}}};"
        found = tensor_maps(kernel, case.tile) if case.tile else schedule_cuda.tensor_maps(kernel, case.units)
        names = [b.name for b in kernel.params]
        maps = ", ".join(f"{{{names.index(m.buffer)}, {', '.join(str(e.evaluate(case.sizes)) for e in words(m))}, {m.box}}}"
                         for m in found)
        declared[f"m{i}"] = f"static const case_map maps{i}[] = {{{maps or '{}'}}};"
        extreme = str(case.extreme).lower()
        rows.append(f'    {{"{case.name}", {cpu.symbol}, {gpu.symbol}, {launch.threads}, {launch.cluster}, '
                    f"{len(buffers)}, {len(kernel.dims)}, buffers{i}, dims{i}, {len(found)}, maps{i}, {case.below}, {extreme}, "
                    f"{str(case.units.precision != 'f32').lower()}, {zeros(kernel)}}},")
    (folder / "cases.cc").write_text("\n".join(['#include "cases.h"', *declared.values(), "const case_row cases[] = {",
                                                *rows, "    {},", "};", ""]), encoding="utf-8")
    (folder / "plain.c").write_text("\n".join(plain.values()), encoding="utf-8")
    # Few files: a compiler's start costs more than a kernel. Portable code has one of its own, as headers are read once.
    together: dict[bool, list[Path]] = {}
    for path in sorted(folder.glob("*.cu")):
        together.setdefault(path.read_text(encoding="utf-8").startswith("#define TC_PORTABLE"), []).append(path)
    for portable, kernels in together.items():
        whole = emulation.together(path.name for path in kernels)
        (folder / f"all{int(portable)}.cu").write_text(whole, encoding="utf-8")
    objects = emulation.compile_kernels(cxx, [folder / f"all{int(portable)}.cu" for portable in together], folder)
    emulation.run(["cc", "-std=c11", "-O1", "-w", *EXACT, *emulation.INCLUDES, "-DTC_ISA_SCALAR", "-c",
                   folder / "plain.c", "-o", folder / "plain.o"])
    program = folder / "run"
    emulation.run([*cxx, emulation.HERE / "run_cases.cc", emulation.HERE / "emulate.cc", folder / "cases.cc", *objects,
                   folder / "plain.o", "-o", program])
    sys.stdout.flush()
    sys.exit(subprocess.run([program], check=False).returncode)
