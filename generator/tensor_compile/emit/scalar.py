# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions (loops/scalar_ir.py) as C statements, one lane or 16 lanes wide.

Every distinct node becomes one named constant, declared in the outermost scope in which all it needs is known: what
does not depend on a loop is computed before it. In code of 16 lanes only what depends on the vector variable (or on the
accumulator) is a vector; the rest stays scalar and is splat where a vector needs it.

How a Load of 16 lanes reads memory follows from the coefficient of the vector variable in its address: 0 one element
for all lanes, 1 neighbouring elements, another constant or expression a strided access; anything else, and
data-dependent indices that differ between lanes, go lane by lane. Elements behind a false predicate are never touched.
"""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import Callable, Iterable, Iterator, Mapping, Sequence

from ..graph.dtypes import DTYPES
from ..graph.table import has_trait
from ..loops.loop_ir import Store
from ..loops.scalar_ir import Acc, Apply, Buffer, Const, InBounds, IndexValue, Load, Local, Reduction, Scalar
from ..loops.scalars import domain_size, own_expressions, walk
from ..records import dataclass
from ..symbolic import Expr, Sym, is_nonnegative, sym, wrap
from .constants import constant
from .halves import high_half, upper_half
from .limits import limit
from .quantized import limits, quantized, quotient
from .index import c_index, Names

C_TYPE = {d.name: d.c_type for d in DTYPES.values()}
# Of 16 lanes; other dtypes run a point at a time. Narrow dtypes are widened in registers (tc_vector_narrow.h).
V_TYPE = {"f32": "tcv_f32", "f16": "tcv_f32", "bf16": "tcv_f32", "i32": "tcv_i32", "i8": "tcv_i32", "u8": "tcv_i32",
          "i16": "tcv_i32", "u16": "tcv_i32", "bool": "tcv_mask"}
# In vectors of i64 (tc_vector_i64.h), between i32 and i32, these alone are known: of fixed-point arithmetic.
WIDE = frozenset(("add", "sub", "mul", "minimum", "maximum", "shift_left", "shift_right"))
_NARROW = frozenset(("f16", "bf16", "i8", "u8", "i16", "u16"))


@dataclass(frozen=True, slots=True)
class CValue:
    """C text of a value, whether it is a vector, and the index of the scope that declares it."""

    text: str
    vector: bool
    depth: int


@dataclass(slots=True)
class Scope:
    """Statements of one nesting level: what is named in it, and the loop variables it binds. guard: its statements run
    only where a predicate holds, so loads that rely on the predicate stay inside."""

    lines: list[str] = field(default_factory=list)
    values: dict[Scalar, CValue] = field(default_factory=dict)
    bound: set[Sym] = field(default_factory=set)
    guard: bool = False


class ScalarEmitter:
    """names: C text of every symbol in scope; pointers: C text of a buffer's first element; width: 1 or 16; vector: the
    variable of the lanes, whose name is that of lane 0; lanes: C text of the number of lanes that exist (None: all);
    accs: C text of each accumulator; written: buffers that the kernel stores to, whose loads stay where they are.
    confined: loads whose predicate is not all that they rely on, so that they stay in the guard around them.
    siblings: for a reduction inside a value, others that may be computed with it. joined: variables that stand for
    several.

    `value` and `store` append to `lines`, the statements of the innermost scope.
    """

    def __init__(self, names: Mapping[Sym, str], pointers: Mapping[str, str], width: int, vector: Sym | None = None,
                 lanes: str | None = None, accs: Sequence[str] = (), buffers: Mapping[str, Buffer] | None = None,
                 written: Iterable[str] = ()):
        self.names, self.pointers, self.width = Names(names), Names(pointers), width
        self.vector, self.lanes, self.accs = vector, lanes, accs
        self.buffers = buffers or {}
        self.written = frozenset(written)
        self.scopes = [Scope()]
        self.locals: dict[str, CValue] = {}
        self.confined: set[Load] = set()
        self.siblings: dict[Reduction, tuple[Reduction, ...]] = {}
        self.streaming: set[str] = set()
        self.joined: dict[tuple[Sym, ...], Sym] = {}
        self.count = 0
        self.headers: set[str] = set()    # that the code needs beside those of scalars and vectors

    @property
    def lines(self) -> list[str]:
        return self.scopes[-1].lines

    @lines.setter
    def lines(self, lines: list[str]) -> None:
        self.scopes[-1].lines = lines

    @property
    def used(self) -> set[Sym | str]:
        """The symbols, and the buffers by name, that the code so far names."""
        return {*self.names.used, *self.pointers.used}

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is written within is compared and stands in no code."""
        names, used = dict(self.names), set(self.names.used)
        yield
        self.names.clear()
        self.names.update(names)
        self.names.used = used

    @property
    def reads_first(self) -> bool:
        """Something is loaded before any variable is bound, alone or as a term of a reduction."""
        return any(isinstance(x, Load) for x in walk(*self.scopes[0].values))

    # -- scopes ---------------------------------------------------------------------------------------------------
    def open(self, bound: Iterable[Sym] = (), guard: bool = False) -> Scope:
        scope = Scope(bound=set(bound), guard=guard)
        self.scopes.append(scope)
        return scope

    def close(self, head: str) -> None:
        """Ends the innermost scope: its statements become the block of `head` in the one around it."""
        scope = self.scopes.pop()
        self.lines += [f"{head} {{".lstrip(), *indent(scope.lines), "}"]

    def fresh(self, prefix: str = "t") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def loop(self, s: Sym) -> str:
        """Opens the loop over s; returns the head for `close`."""
        name = self.bind(s)
        self.open((s,))
        return f"for (tc_index {name} = 0; {name} < {self.index(extent(s))}; ++{name})"

    def bind(self, s: Sym) -> str:
        name = self.names[s] = self.fresh(f"i_{identifier(s.name)}_")
        return name

    def index(self, e: Expr) -> str:
        return c_index(e, self.names)

    def depth_of(self, symbols: Iterable[Sym]) -> int:
        """The scope in which all the symbols are bound; those bound nowhere (dims) are known from the start."""
        depth = 0
        for s in symbols:
            for i in range(len(self.scopes) - 1, depth, -1):
                if s in self.scopes[i].bound:
                    depth = i
                    break
        return depth

    # -- values ---------------------------------------------------------------------------------------------------
    def known(self, node: Scalar) -> CValue | None:
        for scope in reversed(self.scopes):
            found = scope.values.get(node)
            if found is not None:
                return found
        return None

    def value(self, node: Scalar) -> CValue:
        found = self.known(node)
        if found is not None:
            return found
        if isinstance(node, Const):
            result = CValue(constant(node), False, 0)
        elif isinstance(node, Acc):
            result = CValue(self.accs[node.number], self.width > 1, len(self.scopes) - 1)
        elif isinstance(node, Local):
            result = self.locals[node.name]
        elif isinstance(node, IndexValue):
            result = self.index_value(node)
        elif isinstance(node, InBounds):
            result = self.in_bounds(node)
        elif isinstance(node, Load):
            result = self.load(node)
        elif isinstance(node, Reduction):
            from .nests.reduction import emit_reduction
            result = emit_reduction(self, node)
        elif isinstance(node, Apply):
            result = self.apply(node)
        else:
            raise TypeError(f"no C for {type(node).__name__}")
        self.scopes[result.depth].values[node] = result
        return result

    def know(self, node: Scalar, text: str) -> None:
        """The value of a node is a vector of this name, declared in the innermost scope."""
        self.scopes[-1].values[node] = CValue(text, True, len(self.scopes) - 1)

    def scalar(self, node: Scalar) -> str:
        result = self.value(node)
        assert not result.vector
        return result.text

    def wide(self, node: Scalar) -> str:
        """The value as a vector."""
        result = self.value(node)
        return result.text if result.vector else splat(node.dtype, result.text)

    def name(self, text: str, dtype: str, vector: bool, depth: int) -> CValue:
        """Declares a constant of this text in the scope `depth`."""
        name = self.fresh("v" if vector else "t")
        kind = V_TYPE.get(dtype, f"tcv_{dtype}") if vector else C_TYPE[dtype]
        self.scopes[depth].lines.append(f"const {kind} {name} = {text};")
        return CValue(name, vector, depth)

    def name_local(self, name: str, dtype: str, text: str) -> None:
        """Declares the result of a row's reduction, which the Local of that name stands for from now on."""
        declared = f"row_{identifier(name)}"
        self.lines.append(f"const {C_TYPE[dtype]} {declared} = {text};")
        self.locals[name] = CValue(declared, False, len(self.scopes) - 1)

    def halves(self, node: Apply) -> CValue | None:
        """A rounded half of a product of i32 as one operation of vectors, where it differs between lanes."""
        if self.width == 1:
            return None
        high = high_half(node)
        found = high or upper_half(node)
        if found is None:
            return None
        args = [self.value(IndexValue("i32", wrap(f)) if isinstance(f, int) else f) for f in found]
        if not any(a.vector for a in args):
            return None
        texts = [a.text if a.vector else splat("i32", a.text) for a in args]
        name = "high_half_i32" if high else "upper_half_i32"
        return self.name(f"tcv_{name}({', '.join(texts)})", "i32", True, max(a.depth for a in args))

    def quantized(self, node: Apply) -> CValue | None:
        """A rounding to 8 bits as one operation of vectors, or its cast back to f32."""
        wanted = node.dtype
        if node.op == "cast" and wanted == "f32":
            inner = node.args[0]
            node = inner if isinstance(inner, Apply) and inner in self.numbers else node
        found = quantized(node) if self.width > 1 else None
        if found is None:
            return None
        low, high = limits(node)
        by = quotient(found[0]) if node not in self.numbers else None
        if by is not None and (x := self.value(by[0])).vector:
            divisor = self.value(by[1])
            return self.name(f"tcv_quantized_quotient_f32({x.text}, {divisor.text}, {low}, {high}, {found[1]})",
                             node.dtype, True, x.depth)
        x = self.value(found[0])
        if not x.vector:
            return None
        if wanted == "f32":
            return self.name(f"tcv_limited_whole_f32({x.text}, {low}, {high}, {found[1]})", wanted, True, x.depth)
        name = "limited" if node in self.numbers else "quantized"
        return self.name(f"tcv_{name}_f32({x.text}, {low}, {high}, {found[1]})", node.dtype, True, x.depth)

    def limited(self, node: Apply) -> CValue | None:
        """A number that is limited by a constant as one operation of vectors."""
        found = limit(node) if self.width > 1 else None
        if found is None or not (x := self.value(found[1][0])).vector:
            return None
        operands = ", ".join([x.text, *map(self.wide, found[1][1:])])
        return self.name(f"tcv_{found[0]}_f32({operands})", node.dtype, True, x.depth)

    def apply(self, node: Apply) -> CValue:
        for short in (self.halves, self.quantized, self.limited):
            if (found := short(node)) is not None:
                return found
        args = [self.value(a) for a in node.args]
        depth = max((a.depth for a in args), default=0)
        if node.op == "cast":
            if node.args[0].dtype == node.dtype:
                return args[0]
            suffix = f"cast_{node.args[0].dtype}_{node.dtype}"
        elif node.op == "bitcast":
            suffix = f"bitcast_{node.args[0].dtype}_{node.dtype}"
        else:
            suffix = f"{node.op}_{node.args[-1].dtype}"
        if not any(a.vector for a in args):
            return self.name(f"{self.function(suffix)}({', '.join(a.text for a in args)})", node.dtype, False, depth)
        if suffix == "div_f32" and args[0].vector and not args[1].vector and args[1].depth < depth:
            return self.name(f"tcv_div_by_f32({args[0].text}, {args[1].text})", node.dtype, True, depth)
        texts = [a.text if a.vector else splat(n.dtype, a.text) for a, n in zip(args, node.args)]
        if suffix == "exp_f32" and self.below:
            suffix = "exp_below_f32"
        return self.name(f"tcv_{suffix}({', '.join(texts)})", node.dtype, True, depth)

    def function(self, operation: str) -> str:
        """The C function of a scalar operation, `add_f32`."""
        return f"tc_{operation}"

    # -- indices and predicates -------------------------------------------------------------------------------------
    def varies(self, *exprs: Expr) -> bool:
        return self.width == 16 and self.vector is not None and any(self.vector in e.symbols() for e in exprs)

    def step(self, e: Expr) -> Expr | None:
        """What one lane adds to e; None where lanes do not differ by one amount."""
        assert self.vector is not None
        c = e.coefficient(self.vector)
        if c is None and self.steady:
            # The lanes of one vector are 16q..16q+15: a division by a multiple of 16 is the same for all of them.
            lane = Sym("lane", 0, 15)
            whole = Sym("whole", 0, None)
            moved = e.substitute({self.vector: 16 * sym(whole) + sym(lane)})
            c = moved.coefficient(lane)
            if c is not None and whole in c.symbols():
                c = None
        return c

    steady = False   # whether lane 0 is at a multiple of 16
    below = False    # whether no operand of an exp is above 0
    numbers: frozenset[Scalar] = frozenset()    # roundings to 8 bits of what is never NaN

    def index_value(self, node: IndexValue) -> CValue:
        e = node.expr
        depth = self.depth_of(e.symbols())
        if not self.varies(e):
            return self.name(f"({C_TYPE[node.dtype]})({self.index(e)})", node.dtype, False, depth)
        c = self.step(e)
        first = f"tcv_splat_i32((int32_t)({self.index(e)}))"
        if c is None:
            return self.lane_by_lane(node.dtype, depth, lambda: f"({C_TYPE[node.dtype]})({self.index(e)})")
        if not c.terms:
            return self.name(first, node.dtype, True, depth)
        lanes = "tcv_iota_i32()" if c == 1 else \
            f"tcv_mul_i32(tcv_iota_i32(), tcv_splat_i32((int32_t)({self.index(c)})))"
        return self.name(f"tcv_add_i32({first}, {lanes})", node.dtype, True, depth)

    def all_nonnegative(self, exprs: Iterable[Expr]) -> str:
        return " && ".join(f"{self.index(e)} >= 0" for e in exprs)

    def window(self, exprs: Iterable[Expr], depth: int) -> tuple[str, str, str] | None:
        """The predicate "all >= 0" over lanes: a condition for all lanes ("" for none) and the range lo..hi-1 of the
        lanes where the others hold. None where the lanes are not a range."""
        same, low, high = [], ["0"], [self.lanes or "16"]
        for e in exprs:
            if not self.varies(e):
                same.append(e)
                continue
            c = self.step(e)
            if c is None or not c.is_const:
                return None
            first = self.index(e)
            if c.value == 0:
                same.append(e)
            elif c.value > 0:
                low.append(f"-({first})" if c.value == 1 else f"-tc_floordiv({first}, {c.value})")
            else:
                high.append(f"{first} + 1" if c.value == -1 else f"tc_floordiv({first}, {-c.value}) + 1")
        lo, hi = low[0], high[0]
        for more in low[1:]:
            lo = f"tc_max({lo}, {more})"
        for more in high[1:]:
            hi = f"tc_min({hi}, {more})"
        if len(low) > 1:
            lo = self.name_index(lo, depth)
        if len(high) > 1:
            hi = self.name_index(hi, depth)
        return self.all_nonnegative(same), lo, hi

    def name_index(self, text: str, depth: int) -> str:
        name = self.fresh("j")
        self.scopes[depth].lines.append(f"const tc_index {name} = {text};")
        return name

    def in_bounds(self, node: InBounds) -> CValue:
        depth = self.depth_of(s for e in node.exprs for s in e.symbols())
        if not self.varies(*node.exprs):
            return self.name(f"{self.all_nonnegative(node.exprs)}", "bool", False, depth)
        window = self.window(node.exprs, depth)
        if window is None:
            return self.lane_by_lane("bool", depth, lambda: self.all_nonnegative(node.exprs))
        same, lo, hi = window
        text = f"tcv_range({lo}, {hi})"
        return self.name(f"{same} ? {text} : tcv_splat_bool(0)" if same else text, "bool", True, depth)

    # -- memory ---------------------------------------------------------------------------------------------------
    def address(self, buffer: str, index: tuple[Expr, ...]) -> Expr:
        return self.buffers[buffer].address(index)

    def load(self, node: Load) -> CValue:
        indices = [(s, self.value(v)) for s, v in node.dynamic]
        free = {s for e in (*node.index, *node.valid) for s in e.symbols()} - {s for s, _ in node.dynamic}
        depth = max([self.depth_of(free), *(v.depth for _, v in indices)])
        if node.buffer in self.written:
            depth = len(self.scopes) - 1
        else:
            assert self.buffers[node.buffer].kind != "scratch", f"{node.buffer} is read before the kernel writes it"
            guards = [i for i, scope in enumerate(self.scopes) if scope.guard]
            if guards and (node in self.confined or not self.inside(node)):
                depth = max(depth, guards[-1])
        spread = any(v.vector for _, v in indices)
        outer = {s: self.names[s] for s, _ in indices if s in self.names}
        for s, v in indices:
            if v.vector:
                array = self.fresh("a")
                self.scopes[depth].lines += [f"int32_t {array}[16];", f"tcv_store_i32({array}, {v.text});"]
                self.names[s] = f"{array}[l]"
            else:
                self.names[s] = self.position(s, v.text)
        result = self.read(node, depth, spread)
        for s, _ in indices:
            if s in outer:
                self.names[s] = outer[s]
            else:
                del self.names[s]
        return result

    def position(self, s: Sym, text: str) -> str:
        """C text of an index symbol that is data."""
        return f"(tc_index){text}"

    def inside(self, node: Load) -> bool:
        """The element exists wherever the load's own predicate holds."""
        if node.dynamic:
            return True
        shape = self.buffers[node.buffer].shape
        return all(is_nonnegative(e) or e in node.valid for i, n in zip(node.index, shape, strict=True)
                   for e in (i, n - 1 - i))

    def read(self, node: Load, depth: int, spread: bool) -> CValue:
        address, dtype = self.address(node.buffer, node.index), node.dtype
        pointer = self.pointers[node.buffer]
        other = constant(node.other) if node.other is not None else constant(Const(dtype, 0))
        element = f"{pointer}[{self.index(address)}]"
        if not spread and not self.varies(address, *node.valid):
            test = self.all_nonnegative(node.valid)
            return self.name(f"{test} ? {element} : {other}" if test else element, dtype, False, depth)
        c = None if spread else self.step(address)
        window = None if c is None else self.window(node.valid, depth)
        if c is None or window is None:
            return self.lane_by_lane(dtype, depth, lambda: f"{pointer}[{self.index(address)}]",
                                     node.valid, other)
        same, lo, hi = window
        rest = splat(dtype, other)
        place = f"{pointer} + ({self.index(address)})"
        whole = (lo, hi) == ("0", "16")
        if not c.terms:
            text = splat(dtype, element)
            if not whole and node.valid:
                text = f"{lo} < {hi} ? tcv_select_{dtype}(tcv_range({lo}, {hi}), {text}, {rest}) : {rest}"
        elif c == 1:
            if whole:
                text = f"tcv_load_{dtype}({place})"
            elif not node.valid:
                text = f"tcv_loadn_{dtype}({place}, {hi})"
            else:
                text = f"tcv_loadw_{dtype}({place}, {lo}, {hi}, {rest})"
                if self.lanes is None:
                    text = f"{lo} <= 0 && {hi} >= 16 ? tcv_load_{dtype}({place}) : {text}"
        else:
            text = f"tcv_loads_{dtype}({place}, {self.index(c)}, {lo}, {hi}, {rest})"
        if same:
            text = f"{same} ? ({text}) : {rest}"
        return self.name(text, dtype, True, depth)

    def lane_by_lane(self, dtype: str, depth: int, element: Callable[[], str], valid: Iterable[Expr] = (),
                     other: str = "0") -> CValue:
        """A vector made of 16 elements, each computed with the vector variable (and `l`) of its lane. Lanes beyond
        `lanes` and those whose predicate is false take `other`."""
        assert self.vector is not None
        array, lane, first = self.fresh("a"), self.fresh("l"), self.names.get(self.vector, "0")
        self.names[self.vector] = lane
        tests = ([f"l < {self.lanes}"] if self.lanes else []) + ([self.all_nonnegative(valid)] if valid else [])
        text = f"{' && '.join(tests)} ? {element()} : {other}" if tests else element()
        self.names[self.vector] = first
        self.scopes[depth].lines += [
            f"{C_TYPE[dtype]} {array}[16];", "for (int l = 0; l < 16; ++l) {",
            *([f"    const tc_index {lane} = {first} + l;"] if lane in text else []), f"    {array}[l] = {text};", "}"]
        return self.name(f"tcv_load_{dtype}({array})", dtype, True, depth)

    def store(self, node: Store) -> None:
        self.store_value(node, self.value(node.value))

    def stores(self, nodes: Iterable[Store]) -> None:
        """All values are computed before any is stored, as one may be read from a buffer that another overwrites."""
        done = [(node, self.value(node.value)) for node in nodes]
        for node, result in done:
            self.store_value(node, result)

    def store_value(self, node: Store, result: CValue) -> None:
        address, dtype = self.address(node.buffer, node.index), node.value.dtype
        pointer = self.pointers[node.buffer]
        place = f"{pointer} + ({self.index(address)})"
        if self.width == 1 or not (self.varies(address) or result.vector):
            self.lines.append(f"{pointer}[{self.index(address)}] = {result.text};")
            return
        text = result.text if result.vector else splat(dtype, result.text)
        c = self.step(address)
        if c is None:
            assert self.vector is not None
            array, lane, outer = self.fresh("a"), self.fresh("l"), self.names[self.vector]
            self.names[self.vector] = lane
            self.lines += [f"{C_TYPE[dtype]} {array}[16];", f"tcv_store_{dtype}({array}, {text});",
                           f"for (tc_index {lane} = {outer}; {lane} < {outer} + {self.lanes or '16'}; ++{lane})",
                           f"    {pointer}[{self.index(address)}] = {array}[{lane} - {outer}];"]
            self.names[self.vector] = outer
        elif c == 1 and self.lanes is None and node.buffer in self.streaming:
            value = self.fresh("v")
            self.lines += [f"const {V_TYPE[dtype]} {value} = {text};", "if (far)",
                           f"    tcv_stream_{dtype}({place}, {value});", "else",
                           f"    tcv_store_{dtype}({place}, {value});"]
        elif c == 1 and self.lanes is None:
            self.lines.append(f"tcv_store_{dtype}({place}, {text});")
        elif c == 1:
            self.lines.append(f"tcv_storen_{dtype}({place}, {text}, {self.lanes});")
        else:
            self.lines.append(f"tcv_stores_{dtype}({place}, {self.index(c)}, {text}, {self.lanes or '16'});")


def identifier(name: str) -> str:
    """The name as a part of one of C."""
    return "".join(c if c.isalnum() else "_" for c in name)


def _narrow(op: str) -> bool:
    """A scalar operation that vectors of narrow integers have; `pair` keeps two of them apart."""
    return op == "pair" or has_trait(op, "narrow")


def _wide(node: Scalar) -> bool:
    """Vectors have this node of or from i64."""
    if isinstance(node, Load):
        return not node.dynamic and not node.valid
    if isinstance(node, Reduction):
        return _position(node)
    if not isinstance(node, Apply):
        return False
    dtypes = (node.dtype, *(a.dtype for a in node.args))
    if node.op == "cast":
        return dtypes in (("i64", "i32"), ("i32", "i64"))
    return node.op in WIDE and set(dtypes) == {"i64"}


def _position(node: Scalar) -> bool:
    """The place of an extreme, which vectors find."""
    if not isinstance(node, Reduction) or node.op not in ("argmax", "argmin") or node.valid \
            or node.value.dtype not in ("f32", "i32"):
        return False
    terms = domain_size(node.vars).range()[1]
    return terms is not None and terms < 1 << 31


def vectorizable(values: Iterable[Scalar], vector: Sym) -> bool:
    """16 points along `vector` can be computed together: nothing that differs between them, and no result, has a dtype
    without vectors or is a position (a result that is the same at all points is still one for each)."""
    memo: dict[Scalar, bool] = {}
    possible = True

    def varying(node: Scalar) -> bool:
        nonlocal possible
        if node in memo:
            return memo[node]
        inner = [varying(c) for c in node.children]
        found = memo[node] = any(inner) or isinstance(node, Acc) or any(vector in e.symbols()
                                                                        for e in own_expressions(node))
        if found and "i64" in (node.dtype, *(c.dtype for c, differs in zip(node.children, inner) if differs)):
            possible = possible and _wide(node)
        elif found and (node.dtype not in V_TYPE or isinstance(node, Apply) and not _narrow(node.op)
                        and node.args[-1].dtype in _NARROW):
            possible = False
        return found

    for value in values:
        varying(value)
        possible = possible and (value.dtype in V_TYPE or _position(value) and memo[value])
    return possible


def extent(s: Sym) -> Expr:
    assert s.hi is not None, f"{s} has no end"
    return wrap(s.hi) + 1


def splat(dtype: str, text: str) -> str:
    return f"tcv_splat_{dtype}({text})"


def indent(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]
