# SPDX-License-Identifier: Apache-2.0
"""C source of a ContractionKernel from a candidate of the table (templates/contraction/).

A tile is `rows` x `columns` accumulators that live in registers over all terms, in ascending order of k from +0: the
order `seq` of docs/numerics.md, whatever the tile. What is left of the rows is computed by lower tiles and what is left
of the columns by narrower ones, from the same template; the last panel's missing columns are computed and not stored.

The driver walks items = batches x column groups x row tiles, columns outermost, so that a group's panels of b stay in
cache while the rows of a pass; each thread takes a contiguous share of the items. Constant panels come from far at every
call: while the rows pass a group of them, the next one is fetched piece by piece.
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Sequence

from ..loops.ir import Acc, Apply, ContractionKernel, Load, Scalar, SiblingsKernel
from ..symbolic import Expr, Sym, const, sym
from .access import Access, Loop, symbols_of
from .candidates import Candidate, InstructionSet, instruction_set, tail_columns
from .identity import identity
from .index import c_index
from .scalar import C_TYPE, ScalarEmitter, extent, vectorizable
from .template import expand_file

WIDEST = 128              # columns of the tiles for few rows
INLINE_LIMIT = 400        # operations of a tile's epilogue up to which it is expanded in place
HEAVY = {"exp": 20, "log": 20, "tanh": 25, "erf": 30, "div": 4, "sqrt": 4, "sin": 40, "cos": 40, "expm1": 25, "log1p": 35,
         "rem": 25, "pow": 90}


@dataclass(frozen=True, slots=True)
class _Row:
    r: int
    offset: str
    inside: str
    finish: list[str]


@dataclass(frozen=True, slots=True)
class _Reg:
    v: int
    b: str


@dataclass(frozen=True, slots=True)
class _LoopText:
    var: str
    extent: str
    step: str = "1"


@dataclass(frozen=True, slots=True)
class _Group:
    """All columns of some rows: full tiles of `columns`, then what is left."""

    rows: int
    columns: int
    name: str
    body: str = ""


@dataclass(slots=True)
class _Emitter:
    kernel: ContractionKernel
    candidate: Candidate
    access: Access
    isa: InstructionSet
    names: dict[Sym, str]
    own: str = ""                 # what names begin with that are this part's alone
    tiles: dict[str, str] = field(default_factory=dict)

    # -- names --------------------------------------------------------------------------------------------------
    def text(self, e: Expr, extra: dict[Sym, str] | None = None) -> str:
        return c_index(e, {**self.names, **extra} if extra else self.names)

    @property
    def vector(self) -> bool:
        return self.isa.lanes > 1

    @property
    def many(self) -> bool:
        """Several sums a point: they are taken one after the other, in the same registers."""
        return self.access.sums > 1

    @property
    def accs(self) -> list[str]:
        return [f"acc{s}" for s in range(self.access.sums)]

    @property
    def padded(self) -> bool:
        return bool(self.access.bounds)

    @property
    def in_place(self) -> bool:
        return self.kernel.b_panel == 0

    @property
    def fetches(self) -> bool:
        """Full tiles fetch constant panels ahead of their use: there are several to share a group of them among."""
        rows = self.access.rows
        constant = all(p.kind == "packed" for p in self.kernel.params if p.name in self.second)
        return self.vector and constant and not self.in_place \
            and not (rows.is_const and rows.value < 2 * self.candidate.rows)

    @property
    def second(self) -> set[str]:
        """The buffers of the second operands."""
        return {b.buffer for b in self.kernel.b}

    @property
    def parameter(self) -> dict[str, int]:
        return {p.name: i for i, p in enumerate(self.kernel.params)}

    # -- one tile -----------------------------------------------------------------------------------------------
    def tile(self, rows: int, columns: int, partial: bool, padded: bool) -> str:
        """Makes the tile function and returns its name. partial: the last 16 columns are only `lanes`."""
        suffix = ("_partial" if partial else "") + ("_padded" if padded else "")
        name = f"{self.own}tile_{rows}x{columns}{suffix}"
        if name in self.tiles:
            return name
        access, lanes = self.access, self.isa.lanes
        copied = partial and self.in_place
        loops = access.border if padded else access.inside
        inner: Loop | None = loops[-1] if loops else None
        taps = list(loops[:-1])
        if padded and not access.border_inner:
            taps, inner = list(loops), None
        k_names = {loop.var: f"k{i}" for i, loop in enumerate(taps)}
        a_tap = sum((loop.a * sym(loop.var) for loop in taps), const(0))
        b_tap = sum((loop.b * sym(loop.var) for loop in taps), const(0))
        tap_text = [_LoopText(k_names[loop.var], self.text(loop.extent)) for loop in taps]
        a_text, b_text = self.text(a_tap, k_names), self.text(b_tap, k_names)
        inner_text = self.text(inner.extent) if inner else "1"
        a_step, b_step = (self.text(inner.a), self.text(inner.b)) if inner else ("0", "0")
        if copied:
            tap_text.append(_LoopText("k_tile", inner_text, "TAIL_TERMS"))
            a_text, b_text = f"{a_text} + k_tile * ({a_step})", f"{b_text} + k_tile * ({b_step})"
        regs = columns // lanes
        per_piece = max(1, min(16, columns) // lanes)
        pieces = regs // per_piece
        last = pieces - 1
        register_list = []
        for v in range(regs):
            piece, within = divmod(v, per_piece)
            if copied and piece == last:
                register_list.append(_Reg(v, f"b_tail + {within * lanes}"))
            else:
                place = access.b_piece * piece + within * lanes
                register_list.append(_Reg(v, f"b_k + ({self.text(place)})"))
        row_list = []
        for r in range(rows):
            inside = " | ".join(f"(t->bound[{r}][{e}] + term{e})" for e in range(len(access.bounds)))
            finish = [] if self.vector else [f"{self.own}finish(p, d, t, {r}, j + {v}, {self.held(r * columns + v)});"
                                             if self.many else f"{self.own}finish(p, d, t, {r}, j + {v}, c{r}_{v});"
                                             for v in range(regs)]
            for piece in range(pieces if self.vector else 0):
                first = piece * per_piece
                acc = self.held(r * columns + 16 * piece) if self.many else \
                    f"tct_join({', '.join(f'c{r}_{v}' for v in range(first, first + per_piece))})"
                if partial and piece == last:
                    finish.append(f"{self.own}finish_partial(p, d, t, {r}, j + {16 * piece}, {acc}, lanes);")
                else:
                    finish.append(f"{self.own}finish(p, d, t, {r}, j + {16 * piece}, {acc});")
            if access.row_stride_known:
                offset = "t->a[0]" if r == 0 else f"t->a[0] + {access.a_row.value * r}"
            else:
                offset = f"t->a[{r}]"
            row_list.append(_Row(r, offset, inside, finish))
        self.tiles[name] = expand_file("contraction/tile.c.in", {
            "name": name, "own": self.own, "rows": rows, "columns": columns,
            "extra_comment": ", of the last 16 only `lanes`" if partial else "",
            "lanes_parameter": ", tc_index lanes" if partial else "",
            "a_parameter": self.parameter[self.kernel.a.buffer], "many": self.many, "sums": access.sums,
            "seconds": ", ".join(f"(const float *)p[{self.parameter[b.buffer]}]" for b in self.kernel.b),
            "b_offset": self.text(access.b_offset, {access.column: "j"} | self.batch_names("t->")),
            "lanes": lanes, "row_list": row_list, "reg_list": register_list, "taps": tap_text, "a_tap": a_text, "b_tap": b_text,
            "padded": padded, "copied": copied, "inner": inner_text, "b_step": b_step,
            "bounds": [{"e": e, "term": self.text(b.term, k_names)} for e, b in enumerate(access.bounds if padded else ())],
            "tail_piece": f"({self.text(access.b_piece * last)})",
            "a_index": "k" if a_step == "1" else f"k * ({a_step})" if inner else "0",
            "hold_b": regs <= rows,
            "fetches": self.fetches and (rows, columns) == (self.candidate.rows, self.candidate.columns),
        })
        return name

    def held(self, at: int) -> str:
        """Every accumulator of a point, from where the sums of a tile wait for each other."""
        return ", ".join(f"tcv_load_f32(held[{s}] + {at})" if self.vector else f"held[{s}][{at}]"
                         for s in range(self.access.sums))

    def batch_names(self, prefix: str) -> dict[Sym, str]:
        return {s: f"{prefix}b{i}" for i, s in enumerate(self.kernel.batch)}

    # -- all columns of some rows -----------------------------------------------------------------------------------
    def group(self, rows: int, columns: int) -> _Group:
        unit = self.isa.unit
        total = self.access.columns
        lines: list[str] = []
        if total.is_const:
            full, rest = divmod(total.value, columns)
            if full:
                lines += self.call(rows, columns, None)
            if rest:
                width = -(-rest // unit) * unit
                lanes = rest - (width - unit)
                tail = self.call(rows, width, str(lanes) if lanes < unit else None)
                lines = [f"if (j + {columns} <= {total}) {{", *_indent(lines), "} else {", *_indent(tail), "}"] \
                    if full else tail
        else:
            lines += [f"const tc_index columns = {self.text(total)};", f"if (j + {columns} <= columns) {{",
                      *_indent(self.call(rows, columns, None)), "    return;", "}"]
            width = 1 << (max(1, columns // unit).bit_length() - 1)
            while width:
                if width * unit < columns:
                    lines += [f"if (j + {width * unit} <= columns) {{", *_indent(self.call(rows, width * unit, None)),
                              f"    j += {width * unit};", "}"]
                width //= 2
            if unit > 1:
                lines += ["if (j < columns) {", "    const tc_index lanes = columns - j;",
                          *_indent(self.call(rows, unit, "lanes")), "}"]
        return _Group(rows, columns, f"{self.own}rows{rows}x{columns}", "\n".join(lines))

    def call(self, rows: int, columns: int, lanes: str | None) -> list[str]:
        tail = f", {lanes}" if lanes else ""
        inside = f"{self.tile(rows, columns, lanes is not None, False)}(p, d, t, j{tail});"
        if not self.padded:
            return [inside]
        border = f"{self.tile(rows, columns, lanes is not None, True)}(p, d, t, j{tail});"
        return ["if (t->inside)", f"    {inside}", "else", f"    {border}"]

    def rest_columns(self, rest: int) -> int:
        """Columns of the tiles of a rest of rows: the candidate's, or more where so few rows leave registers idle."""
        return rest_columns(self.access, self.isa, rest, self.candidate.columns)

    # -- the epilogue -----------------------------------------------------------------------------------------------
    def finishes(self) -> list[dict[str, str]]:
        work = sum(_work(s.value) for s in self.kernel.stores)
        heavy = work * self.candidate.rows * max(1, self.candidate.columns // 16) > INLINE_LIMIT
        inline = "__attribute__((noinline))" if heavy else "inline __attribute__((always_inline))"
        if not self.vector:
            return [{"name": f"{self.own}finish", "inline": inline, "parameters": ", ".join(f"float {acc}" for acc in self.accs),
                     "body": self.finish_scalar("j")}]
        out = []
        for name, lanes in (("finish", None), ("finish_partial", "lanes")):
            if lanes and self.access.columns.is_const and self.access.columns.value % 16 == 0:
                continue
            body = self.finish_vector(lanes) if self.wide_epilogue else self.finish_lanes(lanes or "16")
            out.append({"name": self.own + name, "inline": inline, "body": body,
                        "parameters": ", ".join([*(f"tcv_f32 {acc}" for acc in self.accs),
                                                 *(("tc_index lanes",) if lanes else ())])})
        return out

    @property
    def wide_epilogue(self) -> bool:
        """The 16 columns of a panel are 16 values of the last variable of n, and the epilogue can be computed so."""
        n = self.kernel.n
        size = extent(n[-1]) if n else None
        together = len(n) == 1 or (len(n) > 1 and size.is_const and size.value % 16 == 0)
        return together and vectorizable([s.value for s in self.kernel.stores], n[-1])

    def point(self, column: str) -> list[str]:
        """Declares the variables of the tile's row r and of a column that the stores use."""
        kernel = self.kernel
        used = set()
        for store in kernel.stores:
            used |= symbols_of(store)
        lines = [f"const tc_index b{i} = t->b{i};" for i, s in enumerate(kernel.batch) if s in used]
        for i, s in enumerate(kernel.m):
            if s in used:
                lines.append(f"const tc_index m{i} = {f't->m{i}[r]' if len(kernel.m) > 1 else 't->row + r'};")
        return lines + _decode(column, "n", [self.text(extent(s)) for s in kernel.n])

    def finish_vector(self, lanes: str | None) -> str:
        return "\n".join(self.point("j") + self.statements(16, lanes, self.accs))

    def finish_scalar(self, column: str) -> str:
        return "\n".join(self.point(column) + self.statements(1, None, self.accs))

    def finish_lanes(self, lanes: str) -> str:
        """Column by column."""
        lanes_of = [f"{acc}_lane" for acc in self.accs]
        body = self.point("j + l") + self.statements(1, None, [f"{lane}[l]" for lane in lanes_of])
        stored = [line for acc, lane in zip(self.accs, lanes_of, strict=True)
                  for line in (f"float {lane}[16];", f"tcv_store_f32({lane}, {acc});")]
        return "\n".join([*stored, f"for (int l = 0; l < {lanes}; ++l) {{",
                          *_indent(body), "}"])

    def statements(self, width: int, lanes: str | None, accs: list[str]) -> list[str]:
        return _statements(self.kernel, self.names, width, lanes, accs)

    # -- the whole ----------------------------------------------------------------------------------------------
    def text_of_part(self) -> str:
        """Everything but the function that the driver calls: `cut` says how many items there are, `run` does some."""
        kernel, access, candidate = self.kernel, self.access, self.candidate
        m = access.rows
        if m.is_const:
            heights = ([candidate.rows] if m.value >= candidate.rows else []) \
                + ([m.value % candidate.rows] if m.value % candidate.rows else [])
            rests = [h for h in heights if h != candidate.rows]
        else:
            rests = list(range(1, candidate.rows))
            heights = [candidate.rows, *rests]
        wide = {h: self.rest_columns(h) for h in rests if self.rest_columns(h) > candidate.columns}
        groups = [self.group(h, wide.get(h, candidate.columns)) for h in heights]
        wide_text = "".join(f"rest == {h} ? {c} : " for h, c in sorted(wide.items())) + "0"
        place_first, place_row = self.place()
        inner = access.border[-1] if access.border_inner else None
        return expand_file("contraction/part.c.in", {
            "candidate": candidate.name, "own": self.own,
            "m_text": self.text(m), "n_text": self.text(access.columns), "k_text": self.text(access.terms),
            "batch_text": self.text(access.batches), "rows": candidate.rows, "columns": candidate.columns,
            "padded": self.padded,
            "padding": inner.a.value * (inner.extent.value - 1) + 1 if inner else 1,
            "bound_count": len(access.bounds), "most_rows": max(heights, default=1),
            "batch_names": [f"b{i}" for i in range(len(kernel.batch))],
            "m_names": [f"m{i}" for i in range(len(kernel.m))] if len(kernel.m) > 1 else [],
            "finishes": self.finishes(), "groups": groups, "tiles": list(self.tiles.values()),
            "wide": wide_text if wide else "", "place_first": place_first, "place_row": place_row,
            "batch_decode": "\n".join(self.batch_decode()),
            "fetches": self.fetches,
            "b_floats": min(p.elements.value for p in kernel.params if p.name in self.second) if self.fetches else 0,
            "b_next": self.text(access.b_offset, {access.column: "(j + columns_a_tile)"} | self.batch_names("t.")),
            "cases": [{"rows": g.rows, "group": g.name} for g in groups],
        }).rstrip("\n")

    def batch_decode(self) -> list[str]:
        batch = self.kernel.batch
        if not batch:
            return []
        lines = ["tc_index batch = at / items;"]
        for i in reversed(range(1, len(batch))):
            size = self.text(extent(batch[i]))
            lines += [f"t.b{i} = batch % ({size});", f"batch /= {size};" if size.isdigit() else f"batch /= ({size});"]
        return [*lines, "t.b0 = batch;"]

    def place(self) -> tuple[str, str]:
        kernel, access = self.kernel, self.access
        names = self.batch_names("t->")
        offset = self.text(access.a_offset, names)
        single = len(kernel.m) == 1
        if access.row_stride_known and len(kernel.m) < 2:
            head = ["const tc_index m0 = row;"] if kernel.m else []
            return "\n".join([*head, f"t->a[0] = {offset};"]), ""
        sizes = [self.text(extent(s)) for s in kernel.m]
        first = ["t->inside = 1;"] if self.padded else []
        row = []
        if single:
            row.append("const tc_index m0 = row + r;")
        elif kernel.m:
            first += [line.replace("const ", "", 1) for line in _decode("row", "m", sizes)]
            row += [f"t->m{i}[r] = m{i};" for i in range(len(sizes))]
        row.append(f"t->a[r] = {offset};")
        for e, bound in enumerate(access.bounds):
            row.append(f"t->bound[r][{e}] = {self.text(bound.row, names)};")
            row.append("t->inside = 0;" if bound.least is None
                       else f"t->inside &= t->bound[r][{e}] + ({self.text(bound.least)}) >= 0;")
        for i in reversed(range(1, len(sizes))):
            row += [f"if (++m{i} < {sizes[i]})", "    continue;", f"m{i} = 0;"]
        if len(sizes) > 1:
            row.append("++m0;")
        return "\n".join(first), "\n".join(row)


def rest_columns(access: Access, isa: InstructionSet, rest: int, columns: int) -> int:
    if isa.lanes == 1:
        return columns
    widest = WIDEST
    if access.columns.is_const:
        widest = min(widest, max(columns, -(-access.columns.value // 16) * 16))
    return max(columns, tail_columns(isa, rest, widest, access.b_piece.is_const))


def emit_contraction(kernel: ContractionKernel | SiblingsKernel, chosen: Sequence[Candidate], symbol: str) -> str:
    """The translation unit that defines `symbol` (docs/loops.md, kernel ABI). chosen: a candidate for each part, all of
    one instruction set. Parts that differ in nothing but their buffers share their code."""
    parts, isa = kernel.parts, instruction_set(chosen[0].isa)
    owns: dict[tuple, str] = {}
    texts, calls = [], []
    for i, (part, candidate) in enumerate(zip(parts, chosen, strict=True)):
        form = (identity(part), candidate)
        if form not in owns:
            owns[form] = f"part{len(owns)}_" if len(parts) > 1 else ""
            texts.append(_Emitter(part, candidate, Access.of(part), isa, _names(part), owns[form]).text_of_part())
        pointer, dim = ({x: j for j, x in enumerate(of)} for of in (kernel.params, kernel.dims))
        calls.append({"i": i, "own": owns[form], "pointers": ", ".join(f"p[{pointer[b]}]" for b in part.params),
                      "dims": ", ".join(f"d[{dim[s]}]" for s in part.dims) or "0"})
    return expand_file("contraction/kernel.c.in", {
        "label": kernel.label, "symbol": symbol, "plain_schedule": isa.isa == "neon", "texts": texts, "parts": calls,
        "alone": len(parts) == 1, "total": " + ".join(f"count{i}" for i in range(len(parts)))})


def _names(kernel: ContractionKernel) -> dict[Sym, str]:
    """C names of the dims and of the variables of batch, m and n."""
    names = {s: f"d[{i}]" for i, s in enumerate(kernel.dims)}
    for prefix, variables in (("b", kernel.batch), ("m", kernel.m), ("n", kernel.n)):
        names |= {s: f"{prefix}{i}" for i, s in enumerate(variables)}
    return names


def emit_reference(kernel: ContractionKernel | SiblingsKernel, symbol: str) -> str:
    """Plain loops that compute what every candidate must: the order of docs/numerics.md, one point after the other."""
    return expand_file("contraction/reference.c.in", {
        "label": kernel.label, "symbol": symbol, "parts": [_reference(part) for part in whole(kernel)]})


def whole(kernel: ContractionKernel | SiblingsKernel) -> list[ContractionKernel]:
    """The parts with the parameters and dims of the kernel that they are of."""
    return [replace(part, params=kernel.params, dims=kernel.dims) for part in kernel.parts]


def _reference(kernel: ContractionKernel) -> dict[str, object]:
    names = _names(kernel) | {s: f"k{i}" for i, s in enumerate(kernel.k)}
    buffers = {p.name: p for p in kernel.params}
    parameter = {p.name: i for i, p in enumerate(kernel.params)}

    def loops(variables: tuple[Sym, ...]) -> list[_LoopText]:
        return [_LoopText(names[s], c_index(extent(s), names)) for s in variables]

    def element(load: Load) -> str:
        return f"((const float *)p[{parameter[load.buffer]}])[{c_index(buffers[load.buffer].address(load.index), names)}]"

    accs = [f"acc{i}" for i in range(len(kernel.b))]
    return {"points": loops(kernel.batch + kernel.m + kernel.n), "terms": loops(kernel.k), "a": element(kernel.a),
            "sums": [{"acc": acc, "b": element(b)} for acc, b in zip(accs, kernel.b)],
            "valid": " && ".join(f"({c_index(e, names)}) >= 0" for e in kernel.a.valid) or "1",
            "epilogue": "\n".join(_statements(kernel, names, 1, None, accs))}


def _statements(kernel: ContractionKernel, names: dict[Sym, str], width: int, lanes: str | None, accs: list[str]) -> list[str]:
    """The stores of the epilogue at one point, or at 16 columns of which the first `lanes` exist."""
    pointers = {p.name: f"(({C_TYPE[p.dtype]} *)p[{i}])" for i, p in enumerate(kernel.params)}
    emitter = ScalarEmitter(names, pointers, width, kernel.n[-1] if width > 1 else None, lanes, accs,
                            {p.name: p for p in kernel.params}, {s.buffer for s in kernel.stores})
    emitter.steady = width > 1    # columns start at panels
    emitter.stores(kernel.stores)
    return emitter.lines


def _decode(flat: str, prefix: str, sizes: list[str]) -> list[str]:
    """Declarations of prefix0.. from a flattened index."""
    out = []
    for i in range(len(sizes)):
        inner = " * ".join(f"({s})" for s in sizes[i + 1:])
        text = f"({flat}) / ({inner})" if inner else f"({flat})"
        out.append(f"const tc_index {prefix}{i} = {f'{text} % ({sizes[i]})' if i else text};")
    return out


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _work(value: Scalar) -> int:
    """Operations of an epilogue, transcendental functions by what they are made of."""
    seen: dict[int, int] = {}
    stack = [value]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = HEAVY.get(node.op, 1) if isinstance(node, Apply) else 0 if isinstance(node, Acc) else 1
            stack.extend(node.children)
    return 1 + sum(seen.values())
