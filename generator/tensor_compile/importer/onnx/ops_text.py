# SPDX-License-Identifier: Apache-2.0
"""Counting n-grams of integers."""
from __future__ import annotations

from ...symbolic import IntLike
from ..problems import Malformed
from ..values import Value
from .registry import Node, op


@op("TfIdfVectorizer", since=9)
def tf_idf(n: Node) -> None:
    """For every n-gram of the pool, and every distance of its elements up to 1 + max_skip_count, how often it is
    there."""
    x = n.input(0)
    shortest, longest = n.integer("min_gram_length"), n.integer("max_gram_length")
    skips, mode = n.integer("max_skip_count"), n.text("mode")
    starts, places = n.ints("ngram_counts") or [], n.ints("ngram_indexes") or []
    pool, weights = n.ints("pool_int64s"), n.reals("weights")
    if n.texts("pool_strings") or pool is None:
        n.refuse("n-grams of strings")
    if x.rank not in (1, 2) or not x.shape[-1].is_const or x.dtype not in ("i32", "i64"):
        n.refuse("a tensor that is no sequence, or no batch of sequences, of integers of a constant length")
    if mode not in ("TF", "IDF", "TFIDF") or not 1 <= shortest <= longest <= len(starts) or skips < 0:
        raise Malformed(f"mode={mode!r}, n-grams of {shortest} to {longest}, {len(starts)} counts")
    length = x.shape[-1].value
    chunks: list[str] = []
    count = 0
    for size in range(1, len(starts) + 1):
        begin = starts[size - 1]
        end = starts[size] if size < len(starts) else len(pool)
        grams = (end - begin) // size
        if not 0 <= begin <= end <= len(pool) or (end - begin) % size:
            raise Malformed("ngram_counts do not fit the pool")
        if not grams:
            continue
        count += grams
        chunks.append(_counts(n, x, pool[begin:end], size, skips, length) if shortest <= size <= longest else
                     f"tc_full(g, 0, TC_F32, {n.dim_list([*x.shape[:-1], grams])})")
    if len(places) != count or not places or min(places) < 0 or weights is not None and len(weights) != count:
        raise Malformed(f"{count} n-grams, {len(places)} places")
    batch = list(x.shape[:-1])
    total: list[IntLike] = [*batch, max(places) + 1]
    axis = x.rank - 1
    every = chunks[0] if len(chunks) == 1 else f"tc_concat({axis}, {', '.join(chunks)})"
    if mode == "IDF":
        every = f"tc_cast(tc_gt({every}, 0), TC_F32)"
    if mode != "TF" and weights is not None:
        every = f"tc_mul({every}, {n.constant(weights, 'f32', (count,), 'weights')})"
    index = n.constant(places, "i64", (count,), "places")
    n.result(f"tc_index_add(tc_full(g, 0, TC_F32, {n.dim_list(total)}), {axis}, {index}, {every})", "f32", total)


def _counts(n: Node, x: Value, pool: list[int], size: int, skips: int, length: int) -> str:
    """[..., grams]: how often each n-gram of one size is there."""
    grams = len(pool) // size
    sums = []
    for skip in range(skips + 1 if size > 1 else 1):
        windows = length - (size - 1) * (skip + 1)
        if windows < 1:
            break
        equal = ""
        for j in range(size):
            at = j * (skip + 1)
            part = f"tc_unsqueeze(tc_slice({x}, {x.rank - 1}, {at}, {at + windows}), {x.rank})"
            line = n.constant([pool[i * size + j] for i in range(grams)], x.dtype, (grams,), "grams")
            one = f"tc_eq({part}, {line})"
            equal = f"tc_logical_and({equal}, {one})" if equal else one
        sums.append(f"tc_sum(tc_cast({equal}, TC_F32), {x.rank - 1})")
    if not sums:
        return f"tc_full(g, 0, TC_F32, {n.dim_list([*x.shape[:-1], grams])})"
    text = sums[0]
    for more in sums[1:]:
        text = f"tc_add({text}, {more})"
    return f"{n.let(text, 'f32', [*x.shape[:-1], grams], 'counts')}"
