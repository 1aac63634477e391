# SPDX-License-Identifier: Apache-2.0
"""Complex numbers as pairs: the last axis of their tensors has the real and the imaginary part. What moves elements
along the other axes, and sums, are the operations of the pairs; arithmetic is that of ops/complex.h."""
from __future__ import annotations

from typing import Any, Sequence

from ..problems import Malformed
from ..values import COMPLEX, FLOATS, Value, number
from .registry import Argument, Function, Node, as_kind, complex_op, find, is_complex

# Arguments that count axes.
_AXES = ("dim", "dim0", "dim1", "axis0", "axis1", "dims", "source", "destination")


def logical_rank(x: Value) -> int:
    """The axes that PyTorch knows of."""
    return x.rank - (x.kind == COMPLEX)


def pairs(n: Node, value: Argument, dtype: str) -> str:
    """A tensor or a number as complex numbers in this element type."""
    if isinstance(value, Value):
        text = n.as_dtype(value, dtype)
        return text if value.kind == COMPLEX else f"tc_complex({text}, 0)"
    if isinstance(value, (complex, int, float)) and not isinstance(value, bool):
        re, im = (number(part, dtype) for part in (complex(value).real, complex(value).imag))
        return f"tc_complex(tc_full(g, {re}, TC_{dtype.upper()}), {im})"
    return f"tc_complex({n.constant(value, dtype)}, 0)"


def _part(x: str, rank: int, which: int) -> str:
    """The real (0) or the imaginary part (1) of complex numbers of so many axes, the pairs' one left out."""
    return f"tc_select({x}, {rank}, {which})"


def _constant(value: Argument) -> complex | float | None:
    """A number that is known, without the part that is 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, complex)):
        return None
    return value.real if isinstance(value, complex) and not value.imag else value


# -- the same of the pairs ---------------------------------------------------------------------------------------------
def _counted(n: Node, rank: int) -> None:
    """Axes that count from the end as axes from the front, so that the pairs' axis does not count."""
    for name in _AXES:
        value = n.arguments.get(name)
        if isinstance(value, list):
            n.arguments[name] = [n.counted(a, rank) if isinstance(a, int) else a for a in value]
        elif isinstance(value, int):
            n.arguments[name] = n.counted(value, rank)


def _all_pairs(n: Node, value: Any) -> Any:
    """Real tensors among those that are joined become complex."""
    if isinstance(value, list):
        return [_all_pairs(n, v) for v in value]
    if isinstance(value, Value) and value.kind != COMPLEX and value.dtype in FLOATS:
        made = n.let(pairs(n, value, value.dtype), value.dtype, (*value.shape, 2))
        return as_kind(made, COMPLEX)
    return value


def _rank(n: Node) -> int:
    for value in n.arguments.values():
        for v in value if isinstance(value, list) else [value]:
            if isinstance(v, Value) and v.kind == COMPLEX:
                return logical_rank(v)
    return 0


def _of_pairs(n: Node, target: str) -> None:
    """By the other table's function, which meets tensors of one axis more."""
    function = find(target)
    assert function is not None, target
    function(n)


def _moved(target: str, more: int = 0, joined: Sequence[str] = ()) -> None:
    """An operation of the other table, done to the pairs. more: axes of the result beyond the operand's; joined:
    arguments whose real tensors become complex first."""
    @complex_op(target)
    def function(n: Node) -> None:
        _counted(n, _rank(n) + more)
        for name in joined:
            n.arguments[name] = _all_pairs(n, n.arguments.get(name))
        _of_pairs(n, target)
        n.given[:] = [as_kind(v, kind.kind) for v, kind in zip(n.given, n.results, strict=True)]


for _name in """view.default reshape.default _unsafe_view.default view_copy.default flatten.using_ints unflatten.int
view_as.default reshape_as.default _reshape_alias.default squeeze.default squeeze.dim squeeze.dims squeeze_copy.dim
squeeze_copy.dims atleast_1d.default ravel.default transpose.int swapaxes.default swapdims.default transpose_copy.int
movedim.int movedim.intlist moveaxis.int expand.default expand_copy.default expand_as.default broadcast_to.default
broadcast_tensors.default flip.default slice.Tensor slice_copy.Tensor narrow.default select.int select_copy.int
split.Tensor split_copy.Tensor chunk.default split_with_sizes.default split.sizes split_with_sizes_copy.default
tensor_split.sections tensor_split.indices unsafe_split.Tensor unsafe_chunk.default unbind.int unbind_copy.int
index_select.default index.Tensor _unsafe_index.Tensor embedding.default cumsum.default neg.default negative.default
clone.default contiguous.default detach.default alias.default lift_fresh_copy.default lift_fresh.default
detach_copy.default positive.default requires_grad.default resolve_conj.default resolve_neg.default""".split():
    _moved(f"aten.{_name}")
for _name in ("unsqueeze.default", "unsqueeze_copy.default"):
    _moved(f"aten.{_name}", 1)
for _name in ("cat.default", "concat.default", "concatenate.default"):
    _moved(f"aten.{_name}", joined=("tensors",))
_moved("aten.stack.default", 1, ("tensors",))
for _name in ("slice_scatter.default", "select_scatter.default"):
    _moved(f"aten.{_name}", joined=("self", "src"))


@complex_op("aten.permute.default", "aten.permute_copy.default")
def permute(n: Node) -> None:
    x = n.tensor("self")
    rank = logical_rank(x)
    order = [n.counted(a, rank) for a in n.integers("dims")]
    # Writing to the view reads the order, too.
    n.arguments["dims"] = [*order, rank]
    if order == list(range(rank)):
        n.give(x)
    else:
        n.result(f"tc_permute({x}, {', '.join(map(str, [*order, rank]))})")


@complex_op("aten.t.default", "aten.numpy_T.default", "aten.mT.default", "aten.mH.default",
            "aten.adjoint.default", "aten.matrix_H.default")
def matrix_transpose(n: Node) -> None:
    x = n.tensor("self")
    rank = logical_rank(x)
    if rank < 2:
        n.give(x)
        return
    order = list(reversed(range(rank))) if "numpy_T" in n.target else [*range(rank - 2), rank - 1, rank - 2]
    text = f"tc_permute({x}, {', '.join(map(str, [*order, rank]))})"
    n.result(f"tc_complex_conj({text})" if n.target.endswith(("adjoint.default", "H.default")) else text)


@complex_op("aten.repeat.default", "aten.tile.default")
def repeat(n: Node) -> None:
    name = "repeats" if "repeat" in n.target else "dims"
    n.arguments[name] = [*n.sizes(name), 1]
    _of_pairs(n, n.target)


@complex_op("aten.roll.default")
def roll(n: Node) -> None:
    _counted(n, _rank(n))
    if n.integers("dims", ()):
        _of_pairs(n, n.target)
        return
    flat = f"tc_roll(tc_reshape({n.tensor('self')}, -1, 2), {n.dim(n.sizes('shifts')[0])}, 0)"
    n.result(f"tc_reshape({flat}, {n.dim_list(n.type.shape)})")


@complex_op("aten.constant_pad_nd.default", "aten.pad.default")
def pad(n: Node) -> None:
    if n.text("mode", "constant") != "constant" or n.argument("value", 0):
        n.refuse("a padding of complex numbers with anything but zeros")
    n.arguments.update(pad=[0, 0, *n.sizes("pad")], value=0)
    _of_pairs(n, "aten.constant_pad_nd.default")


@complex_op("aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default", "aten.mean.dim")
def reduction(n: Node) -> None:
    x = n.tensor("self")
    n.ignore("dtype")
    keep = "_keepdims" if n.flag("keepdim") else ""
    dtype, rank = n.type.dtype, logical_rank(x)
    n.ignore("dim")
    axes = n.axes("dim", rank) if rank else []
    text = pairs(n, x, dtype)
    if not axes:
        n.result(text)
    else:
        n.result(f"tc_{n.target.split('.')[1]}{keep}({text}, {', '.join(map(str, axes))})")


@complex_op("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther")
def where(n: Node) -> None:
    dtype = n.type.dtype
    a, b = (pairs(n, n.argument(name), dtype) for name in ("self", "other"))
    n.result(f"tc_where(tc_unsqueeze({n.tensor('condition')}, -1), {a}, {b})")


@complex_op("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_where(tc_unsqueeze({n.tensor('mask')}, -1), {pairs(n, n.argument('value'), x.dtype)}, {x})")


# -- made of real numbers, and back ------------------------------------------------------------------------------------
@complex_op("aten.view_as_complex.default")
def view_as_complex(n: Node) -> None:
    n.give(as_kind(n.tensor("self"), COMPLEX))


@complex_op("aten.view_as_real.default", "aten.view_as_real_copy.default")
def view_as_real(n: Node) -> None:
    n.give(as_kind(n.tensor("self"), ""))


@complex_op("aten.view.dtype")
def view_as_type(n: Node) -> None:
    """Pairs of the last axis as complex numbers, or the other way round."""
    x = n.tensor("self")
    n.ignore("dtype")
    if x.dtype != n.type.dtype:
        n.refuse("other bits of the same memory")
    n.result(f"tc_reshape({x}, {n.dim_list(n.type.shape)})")


@complex_op("aten.complex.default", "aten.polar.default")
def made(n: Node) -> None:
    first, second = ("real", "imag") if "complex" in n.target else ("abs", "angle")
    n.result(f"tc_{n.target.split('.')[1]}({n.tensor(first)}, {n.tensor(second)})")


@complex_op("aten.real.default", "aten.imag.default")
def component(n: Node) -> None:
    x = n.tensor("self")
    n.result(_part(f"{x}", logical_rank(x), 0 if "real" in n.target else 1))


@complex_op("aten.abs.default", "aten.absolute.default", "aten.angle.default")
def size(n: Node) -> None:
    n.result(f"tc_complex_{'angle' if 'angle' in n.target else 'abs'}({n.tensor('self')})")


@complex_op("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.type_as.default",
            "aten.to.other", "aten.to.prim_dtype")
def to(n: Node) -> None:
    """A real tensor of complex numbers is their real part."""
    n.ignore("other", "dtype")
    x = n.tensor("self")
    if n.type.kind == COMPLEX:
        if x.kind == COMPLEX and x.dtype == n.type.dtype:
            n.give(x)
        else:
            n.result(pairs(n, x, n.type.dtype))
    elif x.kind == COMPLEX:
        n.result(_part(f"{x}", logical_rank(x), 0), x.dtype)
    else:
        n.result(n.as_dtype(x, n.type.dtype))


@complex_op("aten.copy.default")
def copy(n: Node) -> None:
    x, source = n.tensor("self"), n.tensor("src")
    if x.kind != COMPLEX:
        n.refuse("complex numbers stored in a real tensor")
    text = pairs(n, source, x.dtype)
    n.result(text if source.kind == COMPLEX and source.shape == x.shape else
             f"tc_expand({text}, {n.dim_list(x.shape)})")


def _filled(name: str | None, value: float = 0) -> Function:
    def function(n: Node) -> None:
        n.ignore("size", "dtype", "self", "physical_layout", "stride")
        given = n.argument(name) if name else value
        shape = n.dim_list(n.type.shape)
        known = _constant(given)
        if known == 0:
            n.result(f"tc_full(g, 0, TC_{n.type.dtype.upper()}, {shape})")
        else:
            n.result(f"tc_expand({pairs(n, given, n.type.dtype)}, {shape})")
    return function


complex_op("aten.full.default", "aten.full_like.default", "aten.new_full.default")(_filled("fill_value"))
complex_op("aten.fill.Scalar", "aten.fill.Tensor")(_filled("value"))
complex_op("aten.scalar_tensor.default")(_filled("s"))
complex_op(*(f"aten.{name}.default" for name in (
    "zeros", "zeros_like", "new_zeros", "empty_like", "new_empty", "empty", "zero", "empty_permuted",
    "new_empty_strided", "empty_strided")), "aten.empty.memory_format")(_filled(None))
complex_op("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")(_filled(None, 1))


# -- arithmetic --------------------------------------------------------------------------------------------------------
@complex_op("aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar", "aten.rsub.Tensor",
            "aten.rsub.Scalar", "aten.subtract.Tensor")
def add_sub(n: Node) -> None:
    dtype, alpha = n.type.dtype, n.argument("alpha", 1)
    a, b = n.argument("self"), n.argument("other")
    if n.target.startswith("aten.rsub"):
        a, b = b, a
    if alpha != 1:
        n.refuse(f"alpha={alpha} of complex numbers")
    n.result(f"tc_{'add' if 'add' in n.target else 'sub'}({pairs(n, a, dtype)}, {pairs(n, b, dtype)})")


def _scaled(n: Node, name: str, z: Argument, by: Argument) -> str | None:
    """Both parts times, or divided by, something real; None where that is complex."""
    dtype = n.type.dtype
    known = _constant(by)
    if not (isinstance(z, Value) and z.kind == COMPLEX) or is_complex(by) and not isinstance(known, float):
        return None
    if known is not None and not isinstance(known, complex):
        return f"{name}({n.as_dtype(z, dtype)}, {number(known, dtype)})"
    if isinstance(by, Value):
        return f"{name}({n.as_dtype(z, dtype)}, tc_unsqueeze({n.as_dtype(by, dtype)}, -1))"
    return f"{name}({n.as_dtype(z, dtype)}, {n.operand(by, dtype)})"


@complex_op("aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor")
def mul(n: Node) -> None:
    a, b = n.argument("self"), n.argument("other")
    dtype = n.type.dtype
    n.result(_scaled(n, "tc_mul", a, b) or _scaled(n, "tc_mul", b, a) or
             f"tc_complex_mul({pairs(n, a, dtype)}, {pairs(n, b, dtype)})")


@complex_op("aten.div.Tensor", "aten.div.Scalar", "aten.divide.Tensor", "aten.true_divide.Tensor")
def div(n: Node) -> None:
    a, b = n.argument("self"), n.argument("other")
    dtype = n.type.dtype
    n.result(_scaled(n, "tc_div", a, b) or f"tc_complex_div({pairs(n, a, dtype)}, {pairs(n, b, dtype)})")


@complex_op("aten.reciprocal.default")
def reciprocal(n: Node) -> None:
    dtype = n.type.dtype
    n.result(f"tc_complex_div({pairs(n, 1, dtype)}, {pairs(n, n.argument('self'), dtype)})")


@complex_op("aten._conj.default", "aten.conj.default", "aten.conj_physical.default", "aten._conj_physical.default",
            "aten.exp.default", "aten.log.default")
def function(n: Node) -> None:
    name = n.target.split(".")[1].strip("_").partition("_")[0]
    n.result(f"tc_complex_{name}({pairs(n, n.argument('self'), n.type.dtype)})")


@complex_op("aten.square.default", "aten.pow.Tensor_Scalar")
def power(n: Node) -> None:
    x = n.tensor("self")
    exponent = 2 if n.target == "aten.square.default" else _constant(n.argument("exponent"))
    if not isinstance(exponent, (int, float)) or not float(exponent).is_integer() or not 1 <= abs(exponent) <= 16:
        n.refuse(f"complex numbers to the power of {exponent}", "exponents are whole numbers up to 16")
    value, left, result = x, int(abs(exponent)), None
    while left:
        if left % 2:
            result = value if result is None else n.let(f"tc_complex_mul({result}, {value})", x.dtype, x.shape)
        left //= 2
        if left:
            value = n.let(f"tc_complex_mul({value}, {value})", x.dtype, x.shape)
    assert result is not None
    n.result(f"{result}" if exponent > 0 else f"tc_complex_div({pairs(n, 1, x.dtype)}, {result})")


# -- products ----------------------------------------------------------------------------------------------------------
@complex_op("aten.mm.default", "aten.bmm.default", "aten.matmul.default", "aten.linalg_matmul.default")
def matmul(n: Node) -> None:
    a = n.tensor("self")
    b = n.tensor("other" if "matmul" in n.target else "mat2")
    if min(logical_rank(a), logical_rank(b)) < 2:
        n.refuse("a product of complex vectors", "give them an axis of 1")
    n.result(f"tc_complex_matmul({pairs(n, a, n.type.dtype)}, {pairs(n, b, n.type.dtype)})")


@complex_op("aten.linear.default")
def linear(n: Node) -> None:
    x, weight, bias = n.tensor("input"), n.tensor("weight"), n.optional("bias")
    if logical_rank(x) < 2:
        n.refuse("a product of complex vectors", "give them an axis of 1")
    dtype = n.type.dtype
    text = f"tc_complex_matmul({pairs(n, x, dtype)}, tc_transpose({pairs(n, weight, dtype)}, 0, 1))"
    n.result(text if bias is None else f"tc_add({text}, {pairs(n, bias, dtype)})")


@complex_op("aten.einsum.default")
def einsum(n: Node) -> None:
    """Each part by products of the parts."""
    n.only("path", None)
    equation, tensors = n.text("equation").replace(" ", ""), n.tensors("tensors")
    if not tensors:
        raise Malformed("it has no operands")
    dtype, shape = n.type.dtype, n.type.shape[:-1]
    if len(tensors) > 2:
        n.refuse("more than two operands with complex numbers", "write it as products of two")

    def product(*texts: str) -> Value:
        return n.let(f'tc_einsum("{equation}", {", ".join(texts)})', dtype, shape)

    (a, b), *more = [[_part(f"{x}", logical_rank(x), which) for which in (0, 1)] for x in tensors]
    if not more:
        re, im = product(a), product(b)
        n.result(f"tc_complex({re}, {im})")
        return
    (c, d), = more
    ac, bd, ad, bc = product(a, c), product(b, d), product(a, d), product(b, c)
    n.result(f"tc_complex(tc_sub({ac}, {bd}), tc_add({ad}, {bc}))")
