# SPDX-License-Identifier: Apache-2.0
"""What contractions fetch ahead of its use: lines of their second operands, and of results that leave a model or, of
sums of many terms, fill a second cache, which are written later; nothing behind the ends of these. An address behind
them may be no memory at all, and to find that out takes longer than the fetch saves.

Kernels are compiled with macros in place of the compiler's prefetch and of that of lines to write, which look at the
address.
"""
from __future__ import annotations

import platform
import subprocess
import tempfile
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Iterator, Sequence

from cases import convolution, dim, matmul, siblings, sums, typed
from processor import lacks, own_sets
from tap import done, note, ok
from tensor_compile import target as targets
from tensor_compile.compile import toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.host_programs import TEMPLATES
from tensor_compile.emit.contraction import candidates as table, micro
from tensor_compile.emit.contraction.access import Access
from tensor_compile.emit.contraction.candidate_table import PANEL
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.emit.contraction.in_registers import stands_alone, streamed
from tensor_compile.emit.contraction.schedule_blocks import cuts_taps, fetches_soon, later_terms
from tensor_compile.emit.contraction.schedules import floats, scratch
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.loops.products import Product
from tensor_compile.symbolic import sym

# Put before every kernel, precompiled with what kernels include.
HEADER = """#include "tc_kernel.h"
void prefetch_seen(const void *at);
#define __builtin_prefetch(at, ...) prefetch_seen(at)
#include "tc_tile.h"
void fetch_to_write_seen(const void *at);
#define tct_fetch_to_write(at) fetch_to_write_seen(at)
"""

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
{kernels}
static struct piece {{ const char *at, *end; }} seconds[8], results[8];
static int second_count, result_count;
static long inside, outside, written;

static void count(const char *c, const struct piece *pieces, int piece_count, long *counted)
{{
    int found = 0;
    for (int i = 0; i < piece_count; ++i)
        found |= c >= pieces[i].at && c < pieces[i].end;
    *counted += found;
    outside += !found;
}}

void prefetch_seen(const void *at)
{{
    count(at, seconds, second_count, &inside);
}}

void fetch_to_write_seen(const void *at)
{{
    count(at, results, result_count, &written);
}}

static void *buffer(size_t bytes, int is_second, int is_result)
{{
    char *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p)
        exit(2);
    for (size_t i = 0; i < bytes; ++i)
        p[i] = 0;
    if (is_second)
        seconds[second_count].at = p, seconds[second_count++].end = p + bytes;
    if (is_result)
        results[result_count].at = p, results[result_count++].end = p + bytes;
    return p;
}}

int main(void)
{{
{runs}
    return 0;
}}
"""

# Prints how many of 36 terms' elements no share fetched, for each number of panels and of tiles.
SHARES = """#include <stdio.h>
#include <string.h>
#include "tc_micro.h"

int main(void)
{
    enum { TERMS = 36, PIECE = 16 * TERMS };
    for (tc_index panels = 1; panels <= 8; ++panels)
        for (tc_index tiles = 1; tiles <= 40; ++tiles) {
            static char fetched[8 * PIECE + 16];
            memset(fetched, 0, sizeof fetched);
            struct tc_fetch f = tc_fetch_of(0, PIECE, panels, TERMS, tiles);
            for (tc_index tile = 0; tile < tiles; ++tile) {
                tc_index step, from = tc_fetch_share(&f, &step);
                for (tc_index k = 0; k < TERMS && step > 0; ++k, from += step)
                    memset(fetched + from, 1, (size_t)step); /* from one fetched element to the next are `step` <= 16 */
            }
            tc_index missing = 0;
            for (tc_index i = 0; i < tc_min(panels, tiles) * PIECE; ++i)
                missing += !fetched[i];
            if (missing)
                printf("%d panels, %d tiles: %d\\n", (int)panels, (int)tiles, (int)missing);
        }
    return 0;
}
"""


# A product of 96 rows, 192 columns and 96 terms as several threads' pieces, each told of runs of memory: what of it
# is fetched, and what else.
SOON = """#include <stdio.h>
#include "tc_kernel.h"
tc_kernel kernel;
static _Alignas(64) float a[96 * 96], b[192 * 96], bias[192], y[96 * 192];
static _Alignas(64) char later[4 * 65536];
static char hits[sizeof later];
static long outside;

void prefetch_seen(const void *at)
{
    const char *const c = at;
    if (c >= later && c < later + sizeof later)
        hits[c - later] = 1;
    else
        outside += c < (const char *)b || c >= (const char *)(b + 192 * 96);
}

void fetch_to_write_seen(const void *at)
{
    (void)at;
}

int main(void)
{
    for (tc_index pieces = 1; pieces <= 32; pieces *= 4)
        for (tc_index bytes = 20000; bytes <= 80000; bytes += 15000) {
            const int others = bytes > 65536; /* the pieces are other threads': nothing of what it is told is fetched */
            const tc_index at = (tc_index)later;
            /* three runs, one of them short, at the pace that they need */
            const tc_index pace = (2 * bytes + 640) * 65536 / (96 * 192 * 96);
            tc_index soon[16] = {pace, 0, at, at + bytes, at + 65536, at + 65536 + 640, at + 2 * 65536,
                                at + 2 * 65536 + bytes, [10] = (tc_index)b, (tc_index)(b + 192 * 96 * !others)};
            void *p[] = {BUFFERS, 0, soon};
            for (tc_index i = 0; i < (tc_index)sizeof hits; ++i)
                hits[i] = 0;
            for (tc_index i = 0; i < pieces; ++i)
                kernel(p, 0, i, pieces);
            long lines = 0, wrong = 0;
            for (tc_index i = 0; i < (tc_index)sizeof hits / 64; ++i) {
                int hit = 0;
                for (int c = 0; c < 64; ++c)
                    hit |= hits[64 * i + c];
                const tc_index of = i * 64 / 65536, in = i * 64 % 65536;
                const int told = of == 0 || of == 2 ? in < bytes : of == 1 && in < 640;
                lines += told && hit, wrong += !told && hit;
            }
            printf("%d %ld %ld %ld\\n", others ? 0 : (int)(2 * bytes / 64), lines, wrong, outside);
        }
    return 0;
}
"""


# Prints what micro-kernels read and fetch, of one piece up to 16, a line a tap: the first line of b, terms, panels; the
# first element that is fetched, and elements from one to the next, 0 where nothing is.
NEXT = """#include <stdio.h>
#include "tc_micro.h"
tc_kernel kernel;
static const float *b;

static void seen(const struct tc_micro *m, int panels, int fetches)
{
    const tc_index step = fetches ? m->fetch_step : 0;
    for (tc_index tap = 0; tap < m->taps; ++tap)
        printf("%d %d %d %d %d\\n", (int)((const float *)m->b + m->b_tap[tap] - b) / 16, (int)m->terms, panels,
               (int)((const float *)m->fetch + tap * m->terms * step - b), (int)step);
}

FUNCTIONS

int main(void)
{
    void *p[] = {POINTERS, 0, 0};
    b = p[1];
    for (tc_index pieces = 1; pieces <= 16; ++pieces)
        for (tc_index i = 0; i < pieces; ++i) {
            kernel(p, 0, i, pieces);
            printf("end\\n");
        }
    return 0;
}
"""


@dataclass(frozen=True)
class Visit:
    """What some tiles in a row read, panels of one group of columns with the terms of one block, and what they fetch
    meanwhile: lines of the second operand, by their numbers. terms: of the block."""

    tiles: int
    terms: int
    reads: frozenset[int]
    fetched: frozenset[int]


def visits(text: str, c: Schedule, terms: int) -> Iterator[list[Visit]]:
    """Those of each piece."""
    for piece in text.split("end\n")[:-1]:
        lines = [tuple(map(int, line.split())) for line in piece.splitlines()]
        found = []
        for (_, block), some in groupby(lines, lambda x: (x[0] // terms // (c.nr // PANEL), x[0] % terms // c.kc)):
            taps, reads, fetched = list(some), set(), set()
            for begin, count, panels, fetch, step in taps:
                reads |= {begin + panel * terms + k for panel in range(panels) for k in range(count)}
                fetched |= {(fetch + k * step) // PANEL for k in range(count) if step > 0}
            first = min(reads)
            tiles = sum(begin == first for begin, *_ in taps)
            found.append(Visit(tiles, min(c.kc, terms - block * c.kc), frozenset(reads), frozenset(fetched)))
        yield found


def amiss(visit: Visit, then: Visit | None, terms: int) -> bool:
    """Whether something else is fetched than what is read next, or too little of it. A tile fetches a panel at most and
    as many terms as it has: of a shorter block, those before again."""
    if then is None:
        return bool(visit.fetched)
    panels = {line // terms for line in then.reads}
    again = max(0, visit.terms - then.terms)
    begin, end = (of(line % terms for line in then.reads) for of in (min, max))
    least = min(len(panels), visit.tiles) * min(visit.terms, then.terms)
    wrong = any(x // terms not in panels or not begin - again <= x % terms <= end for x in visit.fetched)
    return wrong or len(visit.fetched & then.reads) < least


def check_next(isa: str, target: targets.Target, compile_command: Sequence[str], folder: Path) -> None:
    """In blocks of terms, tiles fetch the panels that the thread reads next, and nothing else: in pieces that begin and
    end inside of groups of columns, too."""
    command = [*compile_command, "-O1", "-w", f"-I{TEMPLATES / 'include'}", "-fsanitize=address,undefined"]
    high = [c for c in table.legal(convolution(1, 512, 7, 7, 480, (3, 3)), isa, target) if c.mr >= micro.FETCHING]
    found = {}
    for c in high:
        if c.prefetch and c.blocked:
            # blocks of whole taps, or of copied rows such that the last has fewer terms
            small = replace(c, kc=160 if c.packed_a and c.mr % 2 else 96, mc=max(3, c.nr // PANEL) * c.mr, nc=2 * c.nr)
            found[small.name] = small
    for c in found.values():
        # eight tiles of rows, five groups of columns, of which the last may have fewer
        kernel = convolution(1, 32, c.mr + 2, 10, 5 * c.nr - (PANEL if c.packed_a else 0), (3, 3))
        terms = Access.of(kernel).terms.value
        pieces = list(visits(fetches_of(kernel, c, command, folder), c, terms))
        wrong = [f"piece {i}, visit {j}" for i, piece in enumerate(pieces)
                 for j, (visit, then) in enumerate(zip(piece, [*piece[1:], None])) if amiss(visit, then, terms)]
        whole = len(pieces) == sum(range(17)) and all(pieces)
        if not ok(whole and not wrong, f"{c.name}: what is read next is fetched"):
            note("\n".join(wrong[:5]))
    ok(bool(found) or not high, f"{isa}: some schedule fetches in blocks of terms")


def fetches_of(kernel: ContractionKernel, c: Schedule, command: Sequence[str], folder: Path) -> str:
    """What NEXT prints of a kernel."""
    kernel = replace(kernel, params=(*kernel.params, scratch("%p", floats(kernel, c))))
    made = emit_contraction(kernel, [c], "kernel")
    micros = [f"void {m.symbol}(const struct tc_micro *m) {{ seen(m, {m.columns // PANEL}, {int(m.fetches)}); }}"
              for m in sorted(made.micros)]
    buffers = [f"static _Alignas(64) float p{i}[{p.elements.evaluate({})}];" for i, p in enumerate(kernel.params)]
    pointers = ", ".join(f"p{i}" for i in range(len(buffers)))
    text = NEXT.replace("FUNCTIONS", "\n".join([*micros, "", *buffers])).replace("POINTERS", pointers)
    (folder / "kernel.c").write_text(made.text, encoding="utf-8")
    (folder / "main.c").write_text(text, encoding="utf-8")
    subprocess.run([*command, str(folder / "kernel.c"), str(folder / "main.c"), "-o", str(folder / "next")], check=True)
    return subprocess.run([str(folder / "next")], capture_output=True, text=True, check=True).stdout


def check_soon(isa: str, target: targets.Target, compile_command: Sequence[str], folder: Path) -> None:
    """Tiles fetch the runs that they are told of, but for ends that are less than a tile's, and nothing else."""
    command = [*compile_command, "-O1", "-w", f"-I{TEMPLATES / 'include'}"]
    for kernel, every in ((matmul(96, 192, 96), 1), (typed(96, 192, 96, Product("f32", "f16")), 5)):
        high = [c for c in table.legal(kernel, isa, target) if c.mr >= micro.FETCHING]
        fitting = list(filter(fetches_soon, high))
        for schedule in fitting[::every]:
            made = emit_contraction(kernel, [schedule], "kernel")
            names = {"a": "a", "b": "b", "bias": "bias", "out": "y"}
            buffers = ", ".join(names[p.name] for p in kernel.params)
            texts = {"kernel.c": made.text, "micro.c": micro.library(made.micros, isa),
                     "main.c": SOON.replace("BUFFERS", buffers)}
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8")
            subprocess.run([*command, "-include", str(folder / "seen.h"), *(str(folder / name) for name in texts),
                            "-o", str(folder / "soon")], check=True)
            printed = subprocess.run([str(folder / "soon")], capture_output=True, text=True, check=True).stdout
            for line in printed.splitlines():
                told, fetched, wrong, outside = map(int, line.split())
                ok(wrong == outside == 0 and (fetched >= 0.8 * told if told else fetched == 0),
                   f"{isa}: {schedule.name}: {fetched} of {told} lines that are read soon, {wrong + outside} others")
        ok(bool(fitting) or not high, f"{isa}: some schedule fetches what is read soon")


def kernels() -> list[tuple[str, object, dict]]:
    m = dim("m")
    return [("rows", matmul(sym(m), 150, 19), {m: 61}), ("one row", matmul(sym(m), 150, 19), {m: 1}),
            ("few terms", matmul(130, 33, 1), {}), ("whole groups", matmul(126, 192, 40), {}),
            ("a large temp", of_temp(matmul(1400, 192, 40)), {}), ("a temp", of_temp(matmul(126, 192, 40)), {}),
            ("a large temp of few terms", of_temp(matmul(1400, 192, 8)), {}),
            ("sums", sums(130, 70, 19, 2), {}), ("siblings", siblings(130, 24, (64, 16, 80)), {}),
            ("convolution", convolution(1, 64, 28, 28, 100, (3, 3), pad=1), {}),
            ("groups", convolution(1, 8, 28, 28, 128, (3, 3), groups=4, pad=1), {}),
            ("planes", convolution(1, 64, 11, 7, 64, (3, 3), pad=1, planar_in=True, planar_out=True), {}),
            ("blocks of taps", convolution(1, 512, 7, 7, 200, (3, 3), pad=1), {}),
            ("one tile of rows, in place", matmul(3, 64, 70, 0, bias=False), {}),
            ("cold constants", replace(matmul(1, 150, 70), cold=True), {}),
            ("cold constants of few terms", replace(matmul(1, 64, 19), cold=True), {}),
            ("blocks of terms, in place", matmul(61, 16, 17003, 0, bias=False), {}),
            ("blocks of terms of four panels, in place", matmul(61, 64, 4203, 0, bias=False), {})]


def of_temp(kernel: ContractionKernel) -> ContractionKernel:
    """The same, whose results stay in the model."""
    return replace(kernel, params=tuple(replace(p, kind="temp") if p.kind == "output" else p for p in kernel.params))


def results(kernel: object) -> list[str]:
    return [p.name for p in kernel.params if p.kind in ("output", "temp")]


def lines_of_results(kernel: object, sizes: dict) -> int:
    """How many lines a product's results are, where they are rows of whole lines; else 0."""
    outs = [p for p in kernel.params if p.name in results(kernel)]
    if len(outs) > 1 or outs[0].order != (0, 1) or outs[0].shape[1].evaluate(sizes) % 16:
        return 0
    return outs[0].elements.evaluate(sizes) // 16


def main() -> None:
    arch = platform.machine()
    isas = [isa for isa in own_sets(arch) if isa != "scalar" and not lacks(isa)]
    target = targets.load(targets.find(arch))
    with tempfile.TemporaryDirectory() as folder:
        compiler = toolchain.detect(("cc",), Cache(Path(folder)).root, "compiler")
        check_shares(compiler.command, Path(folder))
        for isa in isas:
            check(isa, target, [*compiler.command, *toolchain.kernel_flags(compiler, isa, target.flags, (), arch)],
                  Path(folder))
    done()


def check_shares(compile_command: Sequence[str], folder: Path) -> None:
    """All of the next panels is fetched where there is a tile for each of them."""
    (folder / "shares.c").write_text(SHARES, encoding="utf-8")
    subprocess.run([*compile_command, "-w", f"-I{TEMPLATES / 'include'}", str(folder / "shares.c"), "-o",
                    str(folder / "shares")], check=True)
    missed = subprocess.run([str(folder / "shares")], capture_output=True, text=True, check=True).stdout.splitlines()
    if not ok(not missed, "shares of the tiles are all of the panels"):
        note("\n".join(missed[:5]))


def check(isa: str, target: targets.Target, compile_command: list[str], folder: Path) -> None:
    """One point a kernel and candidate: those that fetch later terms of the same columns, or of blocks of taps, else
    every twelfth of those that it fits, other ones for its neighbour."""
    names, runs, declared, sources = [], [], [], [folder / f"{isa}.c", folder / f"{isa}_micro.c"]
    micros: set[micro.Micro] = set()
    (folder / "seen.h").write_text(HEADER, encoding="utf-8")
    for number, (name, kernel, sizes) in enumerate(kernels()):
        fitting = table.legal(kernel.contractions[0], isa, target)
        streaming = [c for c in fitting for part in kernel.contractions
                     if streamed(Access.of(part), c) or later_terms(Access.of(part), c)
                     or part.cold and c.mr == 1 and c.epilogue == "memory"
                     or c.prefetch and cuts_taps(Access.of(part), c) and c.mr > 2]
        planes = [c for c in fitting if name == "planes" and c.mr > 1 and stands_alone(Access.of(kernel), c)]
        fitting = streaming or planes[::2] or fitting[number % 12::12] or fitting[:1]
        room = max(floats(part, c) for part in kernel.contractions for c in fitting)
        kernel = replace(kernel, params=(*kernel.params, *([scratch("%p", room)] if room else [])))
        second = {b.buffer for part in kernel.contractions for b in part.b} | {"%p"}   # or copies of them
        dims = ", ".join(str(sizes[s]) for s in kernel.dims) or "0"
        buffers = ", ".join(f"buffer({p.elements.evaluate(sizes) * 4}, {int(p.name in second)}, "
                            f"{int(p.name in results(kernel))})" for p in kernel.params)
        for c in fitting:
            symbol = f"k{number}_{c.name}"
            sources.append(folder / f"{isa}_{symbol}.c")
            made = emit_contraction(kernel, [c] * len(kernel.contractions), symbol)
            micros |= made.micros
            sources[-1].write_text(made.text, encoding="utf-8")
            declared.append(f"tc_kernel {symbol};")
            runs += ["    {", f"        void *p[] = {{{buffers}, 0, 0}};", f"        tc_index d[] = {{{dims}}};",
                     f"        {symbol}(p, d, 0, 1);", '        printf("%ld %ld %ld\\n", inside, outside, written);',
                     "        inside = outside = written = second_count = result_count = 0;", "    }"]
            names.append((name, c.name, lines_of_results(kernel, sizes)))
    sources[1].write_text(micro.library(micros, isa), encoding="utf-8")
    sources[0].write_text(PROGRAM.format(kernels="\n".join(declared), runs="\n".join(runs)), encoding="utf-8")
    program = folder / f"{isa}_run"
    command = [*compile_command, "-O1", "-w", f"-I{TEMPLATES / 'include'}"]
    subprocess.run([*command, "-x", "c-header", str(folder / "seen.h"), "-o", str(folder / "seen.h.gch")], check=True)
    subprocess.run([*command, "-include", str(folder / "seen.h"), *map(str, sources), "-o", str(program)], check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    fetched = 0
    for (name, candidate, lines), line in zip(names, result.stdout.splitlines(), strict=True):
        inside, outside, written = map(int, line.split())
        fetched += inside
        if not ok(outside == 0, f"{isa}: {name} by {candidate}"):
            note(f"{outside} fetches outside of its second operands and results, {inside} inside")
        if name == "cold constants" and target.arch == "x86_64":
            ok(inside == 70 * 10, f"{isa}: {name} by {candidate}: a line for each that is read")
        if name == "planes":
            ok(written > 0, f"{isa}: {name} by {candidate}: lines are fetched to be written")
        if name in ("a temp", "a large temp of few terms"):
            ok(written == 0, f"{isa}: {name} by {candidate}: no line is fetched to be written")
        elif lines:
            ok(written == lines, f"{isa}: {name} by {candidate}: {lines} lines are fetched to be written")
    ok(fetched > 0, f"{isa}: something is fetched")
    check_soon(isa, target, compile_command, folder)
    check_next(isa, target, compile_command, folder)


main()
