# SPDX-License-Identifier: Apache-2.0
"""The inputs of a call: the user's, and random ones for those that no file has. tc-data makes these of their types and
of what their integers index."""
from __future__ import annotations

from pathlib import Path
from typing import Collection, Sequence

from ..graph.ir import Function, Module, Node, Value
from ..graph.table import PRIMITIVES, is_elementwise
from ..graph.verify import callees_of
from ..loops.program_ir import FunctionPlan
from ..loops.scalar_ir import Buffer
from ..pipeline import Compiled
from ..symbolic import Expr, Sym, const
from . import model_program, tensor_files
from .given import Given

ANY_INTEGER = 1000  # bound of random integers that index nothing


def inputs_file(compiled: Compiled, function: FunctionPlan, sizes: dict[str, int], inputs: Given,
                made_up: Sequence[str], seed: int, data: Path, path: Path) -> Path:
    """A file of the function's inputs under the model's names: those of the user's files, and those that are made up.
    data: tc-data. path: where it may be written."""
    wanted = [b.name for b in function.inputs]
    if wanted and not made_up:
        return inputs.renamed(wanted, path)
    random = path.with_name(f"{path.name}-made-up")
    model_program.run([str(data), "random", str(seed), str(random), *specs(compiled, function, sizes, made_up)])
    parts = [(random, tensor_files.read(random, str(random)))]
    if len(made_up) < len(wanted):
        there = inputs.renamed(wanted, path.with_name(f"{path.name}-given"))
        parts.append((there, {n: t for n, t in tensor_files.read(there, str(there)).items() if n in wanted}))
    tensor_files.write(path, *parts)
    return path


def specs(compiled: Compiled, function: FunctionPlan, sizes: dict[str, int], names: Collection[str] | None = None
          ) -> list[str]:
    """What tc-data makes the function's inputs of; of those names, where there are any."""
    return [_spec(compiled, function, buffer, sizes) for buffer in function.inputs
            if names is None or buffer.name in names]


def _spec(compiled: Compiled, function: FunctionPlan, buffer: Buffer, sizes: dict[str, int]) -> str:
    """What tc-data makes for an input: NAME:DTYPE:BOUND:SIZES. The bound suits the graph as recorded, too: results of
    a called function that nobody uses are computed there."""
    values = {d.sym: sizes[d.sym.name] for d in function.dims}
    shape = "x".join(str(d.evaluate(values)) for d in buffer.shape)
    bounds = [index_bound(module, function.name, buffer.name, values)
              for module in (compiled.captured, compiled.reference)]
    bound = min((b for b in bounds if b is not None), default=None)
    return f"{buffer.name}:{buffer.dtype}:{ANY_INTEGER if bound is None else max(bound, 1)}:{shape}"


def _moved_by(node: Node) -> tuple[Value, ...]:
    """The operands whose elements are the node's, at places that are not data; none of a parameter."""
    about = PRIMITIVES.get(node.op)
    return node.operands if about and about.moves and node.op != "gather" else ()


def _moved(module: Module, function: str, name: str) -> tuple[set[Value], list[Node]]:
    """The values that hold elements of an input moved about, and the nodes of the function and of those it holds."""
    root = module.functions[function]
    carries = {Value(p) for p in root.parameters if p.attrs["name"] == name}
    nodes: list[Node] = []

    def follow(body: Function) -> None:
        for node in body.nodes:
            nodes.append(node)
            if any(v in carries for v in (node.operands[:1] if node.op == "gather" else _moved_by(node))):
                carries.add(Value(node))
            for inner in (module.functions[h] for h in callees_of(node)):
                given = node.operands[len(node.operands) - len(inner.parameters):]
                carries.update(Value(p) for p, v in zip(inner.parameters, given, strict=True) if v in carries)
                follow(inner)

    follow(root)
    return carries, nodes


def index_bound(module: Module, function: str, name: str, values: dict[Sym, int]) -> int | None:
    """Below which integers of an input are: the least of index_extents; None where there is none."""
    return min((size.evaluate(values) for size in index_extents(module, function, name)), default=None)


def index_extents(module: Module, function: str, name: str) -> list[Expr]:
    """The extents of what is read or written at integers of an input, and what these are compared with on the way to
    such an index."""
    carries, nodes = _moved(module, function, name)
    found: list[Expr | None] = []
    for node in (n for n in nodes if n.op in ("gather", "scatter")):
        if node.operands[1] in carries:
            found.append(node.operands[0].shape[node.attrs["axis"]])
        todo, seen = [node.operands[1].node], set()
        while todo:
            made = todo.pop()
            if made in seen:
                continue
            seen.add(made)
            todo += [v.node for v in (made.operands if is_elementwise(made.op) else _moved_by(made))]
            if made.op == "lt" and made.operands[0] in carries:
                found.append(_repeated(made.operands[1]))
    return [size for size in found if size is not None]


def _repeated(value: Value) -> Expr | None:
    """The number that every element is: a constant or a size."""
    node = value.through(("broadcast", "reshape", "cast")).node
    return const(node.attrs["bits"]) if node.op == "constant" else \
        node.attrs["value"][0] if node.op == "dim_value" else None


def is_convolution_weight(module: Module, function: str, name: str) -> bool:
    """Whether an input is the second operand of a convolution: its values must be finite (docs/numerics.md)."""
    carries, nodes = _moved(module, function, name)
    return any(node.op == "convolution" and node.operands[1] in carries for node in nodes)
