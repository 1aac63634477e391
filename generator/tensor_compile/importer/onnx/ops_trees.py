# SPDX-License-Identifier: Apache-2.0
"""Ensembles of decision trees (ai.onnx.ml): every tree of every row goes down a branch at once, as often as the deepest
tree has levels."""
from __future__ import annotations

import math
from dataclasses import field
from typing import Sequence

from ...records import dataclass
from ...symbolic import IntLike
from ..problems import Malformed
from ..program import Statement
from ..values import Element, Value
from .registry import Node, op

DOMAIN = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
COMPARISONS = ("le", "lt", "ge", "gt", "eq", "ne")
MEMBER = 6
MOST = 1 << 24    # entries of a table


@dataclass(slots=True)
class Trees:
    """Branches and leaves in one list of places; a leaf leads to itself. weights: of the leaves, as (place, target,
    weight); sets: of a place that asks for members, those."""

    feature: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    true: list[int] = field(default_factory=list)
    false: list[int] = field(default_factory=list)
    sets: dict[int, list[float]] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    weights: list[tuple[int, int, float]] = field(default_factory=list)

    def add(self, feature: int, split: float, mode: int, missing: int, true: int, false: int) -> None:
        self.feature.append(feature)
        self.split.append(split)
        self.mode.append(mode)
        self.missing.append(missing)
        self.true.append(true)
        self.false.append(false)

    def leaf(self) -> int:
        place = len(self.feature)
        self.add(0, 0.0, 0, 0, place, place)
        return place

    def check(self, targets: int) -> None:
        """Every number is one that there is."""
        count = len(self.feature)
        if not self.roots or any(not 0 <= place < count for place in (*self.roots, *self.true, *self.false)) \
                or any(feature < 0 for feature in self.feature) \
                or any(not 0 <= place < count or not 0 <= target < targets for place, target, _ in self.weights):
            raise Malformed("a place in a tree, or a target, that there is not")

    def depth(self) -> int:
        """Branches on the way from a root to the farthest leaf."""
        depths: dict[int, int] = {}
        open_, way = set[int](), list(self.roots)
        while way:
            at = way[-1]
            below = [place for place in (self.true[at], self.false[at]) if place != at]
            if at in depths or not below or all(place in depths for place in below):
                depths.setdefault(at, max((depths[place] + 1 for place in below), default=0))
                open_.discard(at)
                way.pop()
            elif at in open_:
                raise Malformed("a tree that leads to itself")
            else:
                open_.add(at)
                way += [place for place in below if place not in depths]
        return max(depths[root] for root in self.roots)


def _floats(n: Node, name: str) -> list[float]:
    """A list of floats, or the tensor that stands for it in newer versions."""
    tensor = n.tensor(f"{name}_as_tensor")
    if tensor is not None:
        return _numbers(n, tensor)
    return n.reals(name) or []


def _numbers(n: Node, tensor: object) -> list[float]:
    known = n.importer.source.value(tensor).known   # type: ignore[arg-type]
    if known is None:
        n.refuse("a list of more numbers than are looked at")
    return [float(v) for v in known]                # type: ignore[arg-type]


def _same_length(*lists: Sequence[object]) -> None:
    if len({len(found) for found in lists}) > 1:
        raise Malformed(f"lists of one length have {', '.join(str(len(found)) for found in lists)} entries")


def _old(n: Node, kind: str) -> Trees:
    """The attributes of TreeEnsembleRegressor and TreeEnsembleClassifier: nodes by the numbers of tree and node."""
    ids = {name: n.ints(f"nodes_{name}") or [] for name in ("treeids", "nodeids", "featureids", "truenodeids",
                                                           "falsenodeids")}
    modes, values = n.texts("nodes_modes"), _floats(n, "nodes_values")
    missing = n.ints("nodes_missing_value_tracks_true") or [0] * len(modes)
    n.reals("nodes_hitrates")
    n.tensor("nodes_hitrates_as_tensor")
    _same_length(modes, values, missing, *ids.values())
    place = {key: i for i, key in enumerate(zip(ids["treeids"], ids["nodeids"]))}
    trees, seen = Trees(), set()
    for i, mode in enumerate(modes):
        tree = ids["treeids"][i]
        if tree not in seen:     # its first node is the root
            seen.add(tree)
            trees.roots.append(i)
        if mode == "LEAF":
            trees.leaf()
            continue
        if mode not in MODES[:MEMBER]:
            raise Malformed(f"the mode {mode!r}")
        trees.add(ids["featureids"][i], values[i], MODES.index(mode), missing[i],
                  *(place.get((tree, ids[side][i]), -1) for side in ("truenodeids", "falsenodeids")))
    leaves = [n.ints(f"{kind}_{name}") or [] for name in ("treeids", "nodeids", "ids")]
    weights = _floats(n, f"{kind}_weights")
    _same_length(weights, *leaves)
    trees.weights = [(place.get((tree, node), -1), target, weight)
                     for tree, node, target, weight in zip(*leaves, weights)]
    return trees


def _new(n: Node) -> Trees:
    """The attributes of TreeEnsemble: branches and leaves are two lists."""
    def tensor(name: str) -> list[float]:
        found = n.tensor(name)
        return _numbers(n, found) if found is not None else []

    features, splits, modes = n.ints("nodes_featureids") or [], tensor("nodes_splits"), tensor("nodes_modes")
    missing = n.ints("nodes_missing_value_tracks_true") or [0] * len(features)
    sides = [(n.ints(f"nodes_{side}nodeids") or [], n.ints(f"nodes_{side}leafs") or []) for side in ("true", "false")]
    targets, weights = n.ints("leaf_targetids") or [], tensor("leaf_weights")
    members = tensor("membership_values")
    n.tensor("nodes_hitrates")
    _same_length(features, splits, modes, missing, *(found for side in sides for found in side))
    _same_length(targets, weights)
    trees, count = Trees(roots=n.ints("tree_roots") or []), len(features)
    for i, feature in enumerate(features):
        ends = [ids[i] + count if leafs[i] else ids[i] for ids, leafs in sides]
        mode = int(modes[i])
        if not 0 <= mode < len(MODES):
            raise Malformed(f"the mode {mode}")
        trees.add(feature, splits[i], mode, missing[i], *ends)
        if mode == MEMBER:
            end = next((k for k, v in enumerate(members) if math.isnan(v)), len(members))
            trees.sets[i], members = members[:end], members[end + 1:]
    trees.weights = [(trees.leaf(), target, weight) for target, weight in zip(targets, weights)]
    return trees


def _reached(n: Node, x: Value, trees: Trees) -> Value:
    """The leaf that each row of x ends in, of every tree: [rows, trees]."""
    count, rows = len(trees.feature), x.shape[0]
    shape: list[IntLike] = [rows, len(trees.roots)]

    def table(elements: Sequence[Element], dtype: str, name: str, *sizes: int) -> Value:
        return n.constant(elements, dtype, sizes or (len(elements),), name)

    roots = table(trees.roots, "i64", "roots")
    at = n.let(f"tc_expand({roots}, {n.dim_list(shape)})", "i64", shape, "place")
    with n.importer.aside() as inside:
        def here(found: Value, dtype: str, name: str) -> Value:
            return n.let(f"tc_embedding({at}, {found})", dtype, shape, name)

        feature = here(table(trees.feature, "i64", "features"), "i64", "feature")
        value = n.let(f"tc_take_along({x}, {feature}, 1)", x.dtype, shape, "value")
        split = here(table(trees.split, x.dtype, "splits"), x.dtype, "split")
        modes = sorted({mode for place, mode in enumerate(trees.mode) if trees.true[place] != place})
        mode = here(table(trees.mode, "i64", "modes"), "i64", "mode") if len(modes) > 1 else None
        goes = ""
        for kind in modes:
            if kind == MEMBER:
                longest = max(1, *(len(found) for found in trees.sets.values()))
                if count * longest > MOST:
                    n.refuse(f"{count} nodes of trees by {longest} members")
                sets = [v for place in range(count) for found in [trees.sets.get(place, [])]
                        for v in (*found, *[math.nan] * (longest - len(found)))]
                member = f"tc_embedding({at}, {table(sets, x.dtype, 'sets', count, longest)})"
                text = f"tc_any(tc_eq(tc_unsqueeze({value}, 2), {member}), 2)"
            else:
                text = f"tc_{COMPARISONS[kind]}({value}, {split})"
            text = text if mode is None else f"tc_logical_and(tc_eq({mode}, {kind}), {text})"
            goes = text if not goes else f"tc_logical_or({goes}, {text})"
        if any(trees.missing):
            tracks = here(table([bool(v) for v in trees.missing], "bool", "missing"), "bool", "tracks")
            goes = f"tc_logical_or({goes}, tc_logical_and({tracks}, tc_isnan({value})))"
        true, false = (here(table(found, "i64", name), "i64", name)
                       for found, name in ((trees.true, "if_true"), (trees.false, "if_false")))
        n.emit(Statement(f"{at} = tc_where({goes}, {true}, {false})", keep=True))
    depth = trees.depth()
    if depth:
        n.emit(Statement(head=f"TC_SCAN(g, {depth}, &{at})", body=inside, keep=True))
    return at


def _scores(n: Node, x: Value, trees: Trees, targets: int, how: str) -> Value:
    """[rows, targets]: what the trees say together."""
    trees.check(targets)
    at, rows = _reached(n, x, trees), x.shape[0]
    least = {"MIN": math.inf, "MAX": -math.inf}.get(how, 0.0)
    if len(trees.feature) * targets > MOST:
        n.refuse(f"{len(trees.feature)} nodes of trees by {targets} targets")
    table = [least] * (len(trees.feature) * targets)
    for place, target, weight in trees.weights:
        i = place * targets + target
        table[i] = weight if table[i] == least else table[i] + weight
    leaves = n.constant(table, x.dtype, (len(trees.feature), targets), "weights")
    function = {"MIN": "amin", "MAX": "amax"}.get(how, "sum")
    total = n.let(f"tc_{function}(tc_embedding({at}, {leaves}), 1)", x.dtype, [rows, targets], "total")
    if how in ("MIN", "MAX"):
        return n.let(f"tc_where(tc_isinf({total}), 0, {total})", x.dtype, [rows, targets], "total")
    if how == "AVERAGE":
        return n.let(f"tc_div({total}, {len(trees.roots)})", x.dtype, [rows, targets], "mean")
    return total


def _transformed(n: Node, scores: Value, how: str) -> str:
    if how in ("NONE", "SOFTMAX", "LOGISTIC"):
        return {"NONE": f"{scores}", "SOFTMAX": f"tc_softmax({scores}, 1)", "LOGISTIC": f"tc_sigmoid({scores})"}[how]
    n.refuse(f"post_transform={how}")


def _rows(n: Node) -> Value:
    x = n.input(0)
    n.floats_only(x)
    if x.rank != 2:
        n.refuse(f"an input of rank {x.rank}, not rows of features")
    return x


def _give(n: Node, text: str, value: Value, i: int = 0) -> None:
    if text == f"{value}":
        n.give(value, i)
    else:
        n.result(text, value.dtype, value.shape, i)


@op("TreeEnsemble", domain=DOMAIN, since=5)
def tree_ensemble(n: Node) -> None:
    x, trees, targets = _rows(n), _new(n), n.integer("n_targets", 1)
    how, after = n.integer("aggregate_function", 1), n.integer("post_transform", 0)
    if not 0 <= how < 4 or not 0 <= after < 5:
        raise Malformed(f"aggregate_function={how}, post_transform={after}")
    scores = _scores(n, x, trees, targets, ("AVERAGE", "SUM", "MIN", "MAX")[how])
    _give(n, _transformed(n, scores, ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[after]), scores)


@op("TreeEnsembleRegressor", domain=DOMAIN)
def regressor(n: Node) -> None:
    x, trees, targets = _rows(n), _old(n, "target"), n.integer("n_targets", 1)
    scores = _scores(n, x, trees, targets, n.text("aggregate_function", "SUM"))
    base = _floats(n, "base_values")
    if base:
        scores = n.let(f"tc_add({scores}, {n.constant(base, x.dtype, (len(base),), 'base')})", x.dtype, scores.shape)
    _give(n, _transformed(n, scores, n.text("post_transform", "NONE")), scores)


@op("TreeEnsembleClassifier", domain=DOMAIN)
def classifier(n: Node) -> None:
    x, trees, base = _rows(n), _old(n, "class"), _floats(n, "base_values")
    labels = n.ints("classlabels_int64s") or []
    if n.texts("classlabels_strings") or not labels:
        n.refuse("labels that are strings", "train or convert it with numbers as labels")
    targets = {target for _, target, _ in trees.weights}
    one = len(labels) == 2 and len(targets) == 1
    scores = _scores(n, x, trees, 1 if one and targets == {0} else len(labels), "SUM")
    if base:
        scores = n.let(f"tc_add({scores}, {n.constant(base, x.dtype, (len(base),), 'base')})", x.dtype, scores.shape)
    after = n.text("post_transform", "NONE")
    classes(n, scores, labels, after, one, all(weight >= 0 for _, _, weight in trees.weights))


def classes(n: Node, scores: Value, labels: list[int], after: str, one: bool, shares: bool = False) -> None:
    """The label of the largest score, and the scores. one: of two labels, only one has a score, which decides by its
    sign, or, where it is a share of 1, by whether that is more than half; where there is one column, it is the
    second's."""
    rows = scores.shape[0]
    shape: list[IntLike] = [rows, len(labels)]
    if one:
        column = f"tc_select({scores}, 1, {scores.shape[1].value - 1})"
        n.result(f"tc_where(tc_gt({column}, {0.5 if shares else 0}), {labels[1]}, {labels[0]})", "i64", [rows])
        if scores.shape[1].value == 2:
            _give(n, _transformed(n, scores, after), scores, 1)
            return
        if after == "LOGISTIC":
            scores = n.let(f"tc_sigmoid({scores})", scores.dtype, scores.shape, "share")
        elif after != "NONE":
            n.refuse(f"post_transform={after} of one score for two labels")
        other = f"tc_sub(1, {scores})" if shares or after == "LOGISTIC" else f"tc_neg({scores})"
        n.result(f"tc_concat(1, {other}, {scores})", scores.dtype, shape, 1)
        return
    best = f"tc_argmax({scores}, 1)"
    if labels != list(range(len(labels))):
        best = f"tc_embedding({best}, {n.constant(labels, 'i64', (len(labels),), 'labels')})"
    n.result(best, "i64", [rows])
    _give(n, _transformed(n, scores, after), scores, 1)
