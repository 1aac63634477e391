# SPDX-License-Identifier: Apache-2.0
"""Sums of one or two points with four rows of weights, as Helium's instructions.

VMLADAVA adds the products of 16 bytes to an even general register: two points have all eight of these, so addresses are
in odd ones. Rows are reached from few pointers by the offsets that a load takes.
"""
from __future__ import annotations


from ...loops.byte_vectors import QUAD, VECTOR
from ...records import dataclass

REACH, BYTE_REACH = 508, 127   # offsets of loads by words, and by bytes
UNROLLED = 8                   # vectors of terms up to which there is no loop
BODY = 4                       # vectors of terms in the loop's body
FREE = ("r1", "r3", "r5", "r9", "r11", "r7", "r8", "r10")   # of these the first six beside two points' sums
SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")


@dataclass(frozen=True, slots=True)
class _Stream:
    """Rows that are loaded: which of them have a pointer of their own, and from which pointer each is reached."""

    name: str
    count: int
    step: int
    bases: tuple[int, ...]

    @property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """(row, base), a base behind the rows that it reaches."""
        return tuple((i, b) for b, end in zip(self.bases, (*self.bases[1:], self.count), strict=True)
                     for i in reversed(range(b, end)))


def _stream(name: str, count: int, step: int, span: int, reach: int) -> _Stream:
    bases = [0]
    for i in range(1, count):
        if (i - bases[-1]) * step + span > reach:
            bases.append(i)
    return _Stream(name, count, step, tuple(bases))


def tile(functions: list[str], name: str, points: int, terms: int, pitch: int, step: int) -> bool:
    """Defines the C function `name`(sums, x, weights) of columns that are `step` bytes apart and zero up to a multiple
    of 16; with step 0 of one point anywhere, of which nothing is read behind its terms. False where registers do not
    suffice."""
    whole, rest = divmod(-(-terms // 4) * 4, VECTOR)
    loop = whole + (rest > 0) > UNROLLED
    head = (whole - 1) % BODY + 1 if loop else whole
    span = VECTOR * ((BODY if loop else whole + (rest > 0)) - 1)
    x = _stream("x", points, step, span, REACH if step else BYTE_REACH)
    w = _stream("w", QUAD, pitch, span, REACH)
    if points == 2 and len(x.bases) + len(w.bases) + 1 + loop + (rest > 0) > 6:
        return False
    kind = ("w", "u32") if step else ("b", "u8")
    lines: list[str] = []
    started = False

    def add(row: int, register: str) -> None:
        for p in range(points):
            lines.append(f"vmladav{'a' if started else ''}.s8 {SUMS[QUAD * p + row]}, {register}, q{p}")

    def section(count: int, moves: bool) -> None:
        nonlocal started
        for c in reversed(range(count)):
            for stream, (size, dtype), first in ((x, kind, 0), (w, ("w", "u32"), 2)):
                for i, (row, base) in enumerate(stream.rows):
                    offset = (row - base) * stream.step + VECTOR * c
                    last = moves and c == 0 and row == base
                    register = f"q{row if stream is x else first + i % 2}"
                    pointer = f"%[{stream.name}{base}]"
                    place = f"[{pointer}], #{VECTOR * count}" if last else f"[{pointer}, #{offset}]"
                    lines.append(f"vldr{size}.{dtype} {register}, {place}")
                    if stream is w:
                        add(row, register)
            started = True

    section(head, loop)
    if loop:
        lines.append("1:")
        section(BODY, True)
        lines += ["subs %[count], %[count], #1", "bne 1b"]
    if rest:
        at = 0 if loop else VECTOR * whole
        lines += [f"movs %[rest], #{rest // 4}", "vctp.32 %[rest]"]
        if not step:
            lines.append("vpst")
        for row, base in x.rows:
            lines.append(f"vldr{kind[0]}{'' if step else 't'}.{kind[1]} q{row}, [%[x{base}], "
                         f"#{(row - base) * step + at}]")
        lines.append("vpstttt")
        lines += [f"vldrwt.u32 q{2 + row}, [%[w{base}], #{(row - base) * pitch + at}]" for row, base in w.rows]
        for row in range(QUAD):
            add(row, f"q{2 + row}")
    lines.append(f"stmia %[sums], {{{', '.join(SUMS[:QUAD * points])}}}")
    functions += _function(name, points, terms, pitch, step, x, w, lines, (whole - head) // BODY if loop else 0,
                           rest > 0)
    return True


def _function(name: str, points: int, terms: int, pitch: int, step: int, x: _Stream, w: _Stream, lines: list[str],
              turns: int, rest: bool) -> list[str]:
    pointers = {f"x{b}": f"x + {b * step}" for b in x.bases} | {f"w{b}": f"w + {b * pitch}" for b in w.bases}
    outputs = [f'[{n}] "+r"({n})' for n in pointers] + (['[count] "+r"(count)'] if turns else []) + \
        (['[rest] "=&r"(rest)'] if rest else [])
    changed = (*SUMS[:QUAD * points], "q0", "q1", "q2", "q3", "q4", "q5", "memory", "cc", *(["p0"] if rest else []))
    clobbers = ", ".join(f'"{r}"' for r in changed)
    # named registers: GCC does not always find as many
    free = iter(FREE)
    declared = [f"    register const int8_t *{n} __asm__(\"{next(free)}\") = {text};" for n, text in pointers.items()]
    declared.append(f"    register int32_t *const to __asm__(\"{next(free)}\") = sums;")
    if turns:
        declared.append(f"    register tc_index count __asm__(\"{next(free)}\") = {turns};")
    if rest:
        declared.append(f"    register uint32_t rest __asm__(\"{next(free)}\");")
    text = [f'        "{line}\\n\\t"' if line != "1:" else '        "1:\\t"' for line in lines]
    return [f"static TC_INLINE void {name}(int32_t *sums, const int8_t *x, const int8_t *w)", "{",
            "#ifdef __OPTIMIZE__ /* else too few registers are free */", *declared, "    __asm__ volatile(", *text,
            f"        : {', '.join(outputs)}", '        : [sums] "r"(to)', f"        : {clobbers});", "#else",
            f"    tch_dots(sums, x, {step}, {points}, w, {pitch}, {terms});", "#endif", "}", ""]
