# SPDX-License-Identifier: Apache-2.0
"""Contractions of one first operand: where one consumer reads all their results they are sums of one kernel, otherwise
one grouped kernel.

Sums are joined while fusion puts items into groups; grouped kernels once every group has its epilogue.
"""
from __future__ import annotations

from typing import Any, Mapping

from .groups import Group, Grouped, Notes, Refused, Tried, beside
from .loop_ir import Contraction
from .scalar_ir import Buffer
from .disjoint import apart

MOST_SUMS = 4    # accumulators of a point
MOST_GROUPED = 8


def alike(buffers: Mapping[str, Buffer], items: list[Contraction]) -> None:
    """Raises Refused unless the contractions can be several sums at each point of one kernel."""
    first = items[0]
    if any(x.where is not None for x in items):
        raise Refused("a product with a predicate has a kernel of its own")
    if any(x.a is not first.a or (x.batch, x.m, x.k) != (first.batch, first.m, first.k) for x in items):
        raise Refused("each needs a kernel of its own")
    walks = {(x.n, x.panel, x.product, buffers[x.b.buffer].address(x.b.index), buffers[x.b.buffer].kind) for x in items}
    if len(walks) > 1:
        raise Refused("their second operands lie otherwise")
    if len(items) > MOST_SUMS:
        raise Refused(f"a kernel takes {MOST_SUMS} sums a point")


def group_contractions(grouped: Grouped, notes: Notes) -> None:
    """Groups of contractions of one first operand become one grouped kernel where none needs another one."""
    hosts: dict[tuple[Any, ...], Group] = {}
    for group in grouped.groups:
        if group.kind != "contraction" or group.merged is not None:
            continue
        item = group.contractions[0]
        key = (item.a, item.batch, item.m, item.k)
        host = hosts.setdefault(key, group)
        if host is group:
            continue
        try:
            separable(grouped, host, group)
        except Refused as refused:
            notes.tried.append(Tried(group.members[0].seq, host.members[0].seq, "beside", str(refused)))
            hosts[key] = group
            continue
        beside(host, group)
        notes.fusions.append(f"{group.members[0].item.label} runs beside {host.members[0].item.label}")


def separable(grouped: Grouped, host: Group, group: Group) -> None:
    """Raises Refused unless `group`, which comes later, can join the grouped kernel of `host`."""
    parts = host.beside or [host]
    if len(parts) >= MOST_GROUPED:
        raise Refused(f"a kernel has at most {MOST_GROUPED} contractions")
    if (group.members[0].seq in grouped.early) != (host.members[0].seq in grouped.early):
        raise Refused("indices are looked at between the two")
    if group.above & host.mask or host.above & group.mask:
        raise Refused("one needs the other")
    # What one of them leaves would live through all of what lies between: as long as a decoder, for its encoder's keys.
    if any(g.kind in ("contraction", "region") and g.merged is None and g.above & host.mask and g.seq < group.seq
           for g in grouped.groups):
        raise Refused("a contraction that needs the first one lies between them")
    for one in (m for part in parts for m in part.members):
        for two in group.members:
            if one.item.out == two.item.out and not apart(one.index, two.index):
                raise Refused(f"both store into {one.item.out}")
