# SPDX-License-Identifier: Apache-2.0
"""What the verifier of the loop IR says of each kind of mistake: programs as text, one thing wrong in each."""
from dataclasses import replace

from harness import TARGET, sample
from tap import done, equal, ok, raises
from tensor_compile import pipeline
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit
from tensor_compile.loops.verify_loops import LoopError, verify
from tensor_compile.symbolic import sym

GOOD = '''tensor_compile.loops 1 program
dim n range=1:64 divisor=1
buffer input "x" : f32[n,8]
buffer input "i" : i64[n]
buffer packed "w" : f32[8]
buffer temp "t" : f32[n,8]
buffer temp "u" : f32[n,8]
buffer state "s" : f32[64,8]
buffer output "y" : f32[n,8]
check "indices" "i" below 8
  params ("i") dims (n)
barrier
loop_nest "first" rows (i0:n) grain 1 {
  params ("x", "s", "t") dims (n)
  phase (i1:8) {
    "t"[i0,i1] = add f32 (load f32 ("x"[i0,i1]), load f32 ("s"[i0,i1]))
  }
}
barrier
loop_nest "second" rows (i0:n) grain 1 {
  params ("t", "w", "i", "u") dims (n)
  phase (i1:8) {
    r0 = sum.lanes f32 (load f32 ("t"[i0,i1]))
    "u"[i0,i1] = mul f32 (load f32 ("t"[i0,i1]), load f32 (let g0:8 = load i64 ("i"[i0]) in "w"[g0]))
  }
  phase (i1:8) {
    "u"[i0,i1] = div f32 (load f32 ("u"[i0,i1]), local f32 r0)
  }
}
loop_nest "keep" rows (i0:n) grain 1 {
  params ("t", "s") dims (n)
  phase (i1:8) {
    "s"[i0,i1] = load f32 ("t"[i0,i1])
  }
}
barrier
loop_nest "left" rows (i0:n) grain 1 {
  params ("u", "y") dims (n)
  phase (i1:4) {
    "y"[i0,i1] = load f32 ("u"[i0,i1])
  }
}
loop_nest "right" rows (i0:n) grain 1 {
  params ("u", "y") dims (n)
  phase (i1:4) {
    "y"[i0,i1+4] = load f32 ("u"[i0,i1+4])
  }
}
arena
slot 32*n
slot 32*n above [0]
place "t" slot=0
place "u" slot=1
'''


def finds(name: str, message: str, *changes: tuple[str, str]) -> None:
    text = GOOD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    raises(LoopError, lambda: verify(parse_unit(text, "m")), message, name)


def barrier_before(label: str) -> tuple[str, str]:
    return f'barrier\nloop_nest "{label}"', f'loop_nest "{label}"'


verify(parse_unit(GOOD, "good"))
ok(True, "a program that is right")
verify(parse_unit("""tensor_compile.loops 1 program
buffer input "x" : f32[3,0]
buffer output "y" : f32[3,0]
buffer output "z" : f32[0,2]
loop_nest "none" rows (i0:3) grain 1 {
  params ("x", "y") dims ()
  phase (i1:0) {
    "y"[i0,i1] = load f32 ("x"[i0,i1])
  }
}
loop_nest "two of none" rows (i0:0) grain 1 {
  params ("z") dims ()
  phase () {
    "z"[i0,1] = f32 0x0
    "z"[i0,0] = f32 0x0
  }
}
arena size=0 lower_bound=0
""", "none"))
ok(True, "where there is no point no two of them meet")

verify(parse_unit("""tensor_compile.loops 1 program
dim n range=1:64 divisor=1
buffer output "y" : f32[3*n-6]
loop_nest "three" rows (i0:n-2) grain 1 {
  params ("y") dims (n)
  phase () {
    "y"[i0] = f32 0x0
    "y"[n+i0-2] = f32 0x0
    "y"[2*n+i0-4] = f32 0x0
  }
}
arena size=0 lower_bound=0
""", "three"))
ok(True, "parts do not meet where each has a point")

finds("a store behind a check without a barrier", "first: stores before every thread has left the check indices",
      barrier_before("first"))
finds("a read behind a write of equal rows", "second: reads t where first stores t, with no barrier between",
      barrier_before("second"))
finds("a write behind a read", "keep: stores s where first reads s, with no barrier between", barrier_before("second"))
finds("two writes", "right: stores y where left stores y, with no barrier between",
      ('"y"[i0,i1+4] =', '"y"[i0,i1+3] ='))
finds("two temps in the same memory", "left: stores v where keep reads t, with no barrier between",
      ('buffer temp "u"', 'buffer temp "v" : f32[n,8]\nbuffer temp "u"'), barrier_before("left"),
      ('params ("u", "y") dims (n)\n  phase (i1:4) {\n', 'params ("u", "y", "v") dims (n)\n  phase (i1:4) {\n'
       '    "v"[i0,i1] = load f32 ("u"[i0,i1])\n'), ('place "t" slot=0', 'place "t" slot=0\nplace "v" slot=0'))

finds("points that store one element", "two points may store one element of y[i0, 0]", ('"y"[i0,i1] =', '"y"[i0,0] ='))
finds("rows that store one element", "two points may store one element of y[0, i1]", ('"y"[i0,i1] =', '"y"[0,i1] ='))
finds("rows that meet", "two points may store one element of s[i0 - 8*floordiv(i0, 8), i1]",
      ('"s"[i0,i1] =', '"s"[i0-8*floordiv(i0,8),i1] ='))
finds("stores that meet", "left: another point may store y[i0, i1 + 1] as y[i0, i1]",
      ('"y"[i0,i1] = ', '"y"[i0,i1+1] = load f32 ("u"[i0,i1])\n    "y"[i0,i1] = '))
finds("strides that meet", "two points may store one element of s[i0 + i1, 0]", ('"s"[i0,i1] =', '"s"[i0+i1,0] ='),
      ("dim n range=1:64", "dim n range=1:57"))

finds("another point's value", "second: reads u[i0, 0], which other points of it store",
      ('load f32 ("t"[i0,i1]), load f32 (let', 'load f32 ("u"[i0,0]), load f32 (let'),
      ('    r0 = sum.lanes f32 (load f32 ("t"[i0,i1]))\n', ""), ('div f32 (load f32 ("u"[i0,i1]), local f32 r0)',
                                                              'load f32 ("t"[i0,i1])'),
      ('  }\n  phase (i1:8) {\n    "u"', '    "u"'))
finds("another row's value", "second: reads u[n - i0 - 1, i1], which other points of it store",
      ('load f32 ("u"[i0,i1])', 'load f32 ("u"[n-1-i0,i1])'))

verify(parse_unit("""tensor_compile.loops 1 program
dim n range=0:64 divisor=1
buffer input "x" : f32[8,n-1]
buffer output "y" : f32[8,n-1]
loop_nest "copy" rows (i0:8) grain 1 {
  params ("x", "y") dims (n)
  phase (i1:n-1) {
    "y"[i0,i1] = load f32 ("x"[i0,i1])
  }
}
arena size=0
""", "guarded"))
ok(True, "where there is a point, sizes that a guard keeps from being negative are at least 1")

# -- which variable, accumulator and row reduction a value speaks of
finds("a variable of another phase", "second: nothing binds the variable i1",
      ('  phase (i1:8) {\n    "u"[i0,i1] = div', '  phase () {\n    "u"[i0,i1] = div'))
finds("a variable of another reduction", "first: nothing binds the variable k0",
      ('load f32 ("x"[i0,i1])', 'mul f32 (max.free f32 over (k0:8) (load f32 ("x"[i0,k0])), load f32 ("x"[i0,k0]))'))
finds("a reduction over the point's own variable", "first: i1 is bound again where it has a value",
      ('load f32 ("x"[i0,i1])', 'max.free f32 over (i1:8) (load f32 ("x"[i0,i1]))'))
finds("a reduction within one over the same variable", "first: k0 is bound again where it has a value",
      ('load f32 ("x"[i0,i1])', 'max.free f32 over (k0:8) (min.free f32 over (k0:8) (load f32 ("x"[i0,k0])))'))
finds("a reduction along no variable of the point", "first: nothing binds the variable k0",
      ('load f32 ("x"[i0,i1])', 'max.running f32 over (k0:8) (load f32 ("x"[i0,k0]))'))
finds("an index within one of the same variable", "second: g0 is bound again where it has a value",
      ('load i64 ("i"[i0])', 'load i64 (let g0:8 = load i64 ("i"[i0]) in "i"[g0])'))
finds("a loop within one of the same variable", "left: i0 is the variable of two loops",
      ("phase (i1:4) {\n    \"y\"[i0,i1] =", "phase (i0:n) {\n    \"y\"[i0,0] ="),
      ('"u"[i0,i1])\n  }\n}\nloop_nest "right"',
                                                                              '"u"[i0,0])\n  }\n}\nloop_nest "right"'))
finds("a row reduction before its value", "second: the row reduction r0 has no value yet",
      ('mul f32 (load f32 ("t"', 'mul f32 (local f32 r0, load f32 ("t"'))
tiled = parse_unit('''tensor_compile.loops 1 fused "f"
buffer input "x" : f32[4,8]
buffer output "y" : f32[8,16]
loop_nest "softmax" rows (i0:16) grain 1 {
  params ("x", "y") dims ()
  phase (r0:8) {
    r0 = max.free f32 (load f32 ("x"[-4*floordiv(r0,4)+r0,-8*floordiv(i0,8)+i0]))
  }
  phase (r0:8) {
    "y"[r0,i0] = sum.lanes f32 over (r0:8) (sub f32 (load f32 ("x"[-4*floordiv(r0,4)+r0,-8*floordiv(i0,8)+i0]), local f32 r0))
  }
}
''', "tiled")
raises(LoopError, lambda: verify(tiled), "softmax: r0 is bound again where it has a value",
       "of what fusion made, before the schedule takes its loops apart")

finds("out of bounds", "first: x[i0 + 1, i1] is not proved to be within [n, 8]", ('"x"[i0,i1]', '"x"[i0+1,i1]'))
finds("read before written", "first: reads u before it is written",
      ('load f32 ("x"[i0,i1])', 'load f32 ("u"[i0,i1])'), ('("x", "s", "t")', '("u", "s", "t")'))
finds("a missing parameter", "first: ['s'] are no parameters", ('("x", "s", "t")', '("x", "t")'))
finds("a store into an input", "left: stores into input x",
      ('"y"[i0,i1] = load f32 ("u"', '"x"[i0,i1] = load f32 ("u"'))
finds("dtypes of stores", "left: stores i64 into y of f32", ('load f32 ("u"[i0,i1])\n  }\n}\nloop_nest "right"',
                                                            'index i64 (i0)\n  }\n}\nloop_nest "right"'))
finds("dtypes of loads", "first: loads i32 from x of f32", ('load f32 ("x"', 'load i32 ("x"'))
finds("a temp without a place", "u has no place in the arena", ('place "u" slot=1\n', ""))
finds("a slot too small", "u is larger than its slot",
      ('slot 32*n\nslot 32*n above [0]', 'slot 32*n\nslot 16*n above [0]'))
finds("two temps at once", "u and t live at the same time in the same memory", ('place "u" slot=1', 'place "u" slot=0'))

# -- loops and branches
REGIONS = '''tensor_compile.loops 1 program
dim n range=0:64 divisor=1
buffer input "x" : f32[n,8]
buffer output "y" : f32[8]
buffer temp "c" : f32[8]
buffer temp "d" : f32[8]
buffer temp "p" : bool[]
loop_nest "start" rows () grain 1 {
  params ("c") dims ()
  phase (i0:8) {
    "c"[i0] = f32 0x0
  }
}
loop "scan" iteration t0:n carried ("c") swap ("c", "d") {
  barrier
  loop_nest "step" rows () grain 1 {
    params ("c", "x", "d") dims (t0)
    phase (i0:8) {
      "d"[i0] = add f32 (load f32 ("c"[-i0+7]), load f32 ("x"[t0,i0]))
    }
  }
}
while "while" carried ("c") {
  barrier
  loop_nest "test" rows () grain 1 {
    params ("c", "p") dims ()
    phase () scalar {
      "p"[] = lt bool (load f32 ("c"[0]), f32 0x3f800000)
    }
  }
} decide "p" barrier {
  loop_nest "more" rows () grain 1 {
    params ("c") dims ()
    phase (i0:8) {
      "c"[i0] = exp f32 (load f32 ("c"[i0]))
    }
  }
}
branch "cond" on "p" {
  loop_nest "then" rows () grain 1 {
    params ("c", "y") dims ()
    phase (i0:8) {
      "y"[i0] = load f32 ("c"[i0])
    }
  }
} else {
  loop_nest "else" rows () grain 1 {
    params ("y") dims ()
    phase (i0:8) {
      "y"[i0] = f32 0x0
    }
  }
}
arena size=192
place "c" offset=0
place "d" offset=64
place "p" offset=128
'''
verify(parse_unit(REGIONS, "regions"))
ok(True, "loops and branches that are right")
for name, message, old, new in (
        ("iterations that do not meet", "step: reads c where step stores c, with no barrier between",
         "  barrier\n  loop_nest \"step\"",
         "  loop_nest \"step\""),
        ("a test that does not wait for the last iteration",
         "test: reads c where more stores c, with no barrier between",
         "  barrier\n  loop_nest \"test\"", "  loop_nest \"test\""),
        ("a decision that does not wait", "while: reads p where test stores p, with no barrier between",
         'decide "p" barrier', 'decide "p"'),
        ("a carry that is not written before", "scan: reads c before it is written", '"c"[i0] = f32 0x0\n  }\n}\nloop',
         '"d"[i0] = f32 0x0\n  }\n}\nloop'),
        ("a pair of different sizes", "scan: c and d change places and have different sizes",
         'buffer temp "d" : f32[8]',
         'buffer temp "d" : f32[9]'),
        ("a condition that is none", "cond: c is no bool[]", 'branch "cond" on "p"', 'branch "cond" on "c"'),
        ("what is written on one side", "after: reads d before it is written", "arena size",
         'loop_nest "after" rows () grain 1 {\n  params ("d", "y") dims ()\n  phase (i0:8) {\n    "y"[i0] = load f32 '
         '("d"[i0])\n'
         "  }\n}\narena size"),
        ("memory of a carry", "p and c live at the same time in the same memory", 'place "p" offset=128',
         'place "p" offset=0')):
    assert old in REGIONS, old
    raises(LoopError, lambda: verify(parse_unit(REGIONS.replace(old, new, 1), "m")), message, name)

guarded = parse_unit('''tensor_compile.loops 1 lowered "f"
buffer input "x" : f32[7]
buffer output "y" : f32[3]
compute "pad" (i0:3) {
  "y"[i0] = load f32 ("x"[3*i0-2] if (i0-1) else f32 0x0)
}
''', "guarded")
verify(guarded)
ok(True, "a step of three behind a guard has three times the guard's")
dims = parse_unit('''tensor_compile.loops 1 lowered "f"
dim past range=0:64 divisor=1
dim seq range=1:64 divisor=1
buffer state "k" : f32[64]
buffer output "y" : f32[past+seq]
buffer output "z" : f32[64]
compute "read" (i0:past+seq) {
  "y"[i0] = load f32 ("k"[i0])
}
compute "pad" (i0:4, i1:16) {
  "z"[16*i0+i1] = load f32 ("k"[16*i0+i1] if (past+seq-1-16*i0-i1) else f32 0x0)
}
''', "dims")
raises(LoopError, lambda: verify(dims), "read: k[i0] is not proved to be within [64]", "past the end of a state")
ranks = parse_unit(GOOD, "m")
flat = replace(ranks.buffers["w"], shape=(), order=())
raises(LoopError, lambda: verify(replace(ranks, buffers={**ranks.buffers, "w": flat})), "second: w has rank 0, not 1",
       "an index of another rank than its buffer's")
past, seq = (sym(s) for s in dims.dims)
verify(dims, (64 - past - seq,))
ok(True, "unless a guard of the entry says otherwise, by itself and with a predicate")
border = parse_unit('''tensor_compile.loops 1 lowered "f"
dim n range=0:64 divisor=1
buffer output "y" : f32[14*(2*n+1)]
compute "pad" (i0:14, i1:2) {
  "y"[(2*n+1)*i0+i1] = f32 0x3f800000
}
''', "border")
raises(LoopError, lambda: verify(border), "pad: two points may store one element of y[2*n*i0 + i0 + i1]",
       "borders of rows that may be shorter")
(n,) = (sym(s) for s in border.dims)
verify(border, (2 * n - 2,))
ok(True, "unless a guard of the entry says that they are not")
unguarded = '''tensor_compile.loops 1 lowered "f"
buffer input "x" : f32[7]
buffer output "y" : f32[3]
compute "pad" (i0:3) {
  "y"[0] = load f32 ("x"[3*i0-2] if (i0))
}
'''
try:
    verify(parse_unit(unguarded, "unguarded"))
    text = ""
except LoopError as error:
    text = str(error)
equal(text, "pad: two points may store one element of y[0]\npad: a guarded load of x without a value\n"
            "pad: x[3*i0 - 2] is not proved to be within [7]", "of lowered functions too, every finding at once")
regions = parse_unit('''tensor_compile.loops 1 program
buffer input "p" : f32[]
buffer temp "a" : f32[4]
buffer temp "b" : f32[8]
loop "iterations" iteration t0:4 carried () swap ("a", "b") {
  loop_nest "fill" rows () grain 1 {
    params ("a", "b") dims ()
    phase (i0:4) {
      "a"[i0] = f32 0x0
      "b"[i0] = f32 0x0
    }
  }
}
branch "cond" on "p" {
} else {
}
arena size=0
''', "regions")
unused = parse_unit('''tensor_compile.loops 1 program
buffer temp "a" : f32[4]
buffer temp "b" : f32[4]
loop "iterations" iteration t0:4 carried () swap ("a", "b") {
}
arena size=0
''', "unused")
message = "iterations: a and b change places and no iteration uses them"
raises(LoopError, lambda: verify(unused), message, message)
for message in ("iterations: a and b change places and have different sizes", "cond: p is no bool[]"):
    raises(LoopError, lambda: verify(regions), message, message)
sorts = parse_unit('''tensor_compile.loops 1 program
buffer input "x" : f32[4,8]
buffer input "i" : i64[4]
buffer scratch "s" : i64[2]
buffer output "y" : f32[4]
loop_nest "sort" rows (i0:4) grain 1 {
  params ("x", "i", "s", "y") dims ()
  phase (i1:8) {
    sort "s" first 9 (load f32 ("x"[i0,i1]))
  }
  phase () scalar {
    let g0:4 = load i64 ("i"[i0]) in "y"[g0] = f32 0x0
  }
}
arena size=0
''', "sorts")
for message in ("sort: s has no room for sorting 8 points", "sort: 9 of 8 sorted points",
                "sort: rows may store one element of y[g0]"):
    raises(LoopError, lambda: verify(sorts), message, message)
sums = parse_unit('''tensor_compile.loops 1 program
buffer input "x" : f32[4,8]
buffer packed "c0" : f32[1,8,16]
buffer packed "c1" : f32[2,8,16]
buffer output "y" : f32[4,16]
contraction "dots" batch () m (i0:4) n (i1:16) k (k0:8) panel 16 {
  params ("x", "c0", "c1", "y") dims ()
  a = load f32 ("x"[i0,k0])
  b = load f32 ("c0"[0,k0,i1])
  b = load f32 ("c1"[k0-1,k0,i1])
  "y"[i0,i1] = add f32 (acc f32, acc f32 1)
}
arena size=0
''', "sums")
accs = print_unit(sums).replace("acc f32 1", "acc f32 2")
raises(LoopError, lambda: verify(parse_unit(accs, "sums")), "dots: there is no accumulator 2",
       "an accumulator too many")
for message in ("dots: its second operands lie otherwise",
                "dots: c1[k0 - 1, k0, i1] is not proved to be within [2, 8, 16]"):
    raises(LoopError, lambda: verify(sums), message, message)
where = print_unit(sums).replace("  b = load f32 (\"c1\"", "  where = load f32 (\"x\"[i0,k0])\n  #").split("\n")
where = "\n".join(line for line in where if not line.startswith("  #")).replace(", acc f32 1", ", acc f32")
raises(LoopError, lambda: verify(parse_unit(where, "where")), "dots: a predicate is a bool, and one of a single sum of floats",
       "a predicate that is no bool")
merged = '''tensor_compile.loops 1 program
buffer state "s" : f32[3,2,8]
loop_nest "copy" rows () grain 1 {
  params ("s") dims ()
  phase (i0:24) {
    "s"[floordiv(i0+24,16),-2*floordiv(i0+24,16)+floordiv(i0+24,8),-8*floordiv(i0+24,8)+i0+24] = load f32 ("s"[floordiv(i0,16),-2*floordiv(i0,16)+floordiv(i0,8),-8*floordiv(i0,8)+i0])
  }
}
arena size=0
'''
verify(parse_unit(merged, "merged"))
raises(LoopError, lambda: verify(parse_unit(merged.replace("i0+24", "i0+23"), "merged")),
       "which other points of it store",
       "parts of merged loops are told apart by their addresses")
gathered = '''tensor_compile.loops 1 program
dim n range=0:64 divisor=1
buffer input "x" : f32[8,n]
buffer input "i" : i64[20]
buffer output "y" : f32[28,2*n]
check "indices" "i" below 8
  params ("i") dims (n)
barrier
loop_nest "part" rows (i0:8) grain 1 {
  params ("x", "y") dims (n)
  phase (i1:n) {
    "y"[i0,n+i1] = load f32 ("x"[i0,i1])
  }
}
barrier
loop_nest "rows" rows (i0:20) grain 1 {
  params ("i", "y") dims (n)
  phase (i1:n) {
    "y"[i0+8,n+i1] = load f32 (let g0:8 = load i64 ("i"[i0]) in "y"[g0,n+i1])
  }
}
barrier
loop_nest "columns" rows (i0:8) grain 1 {
  params ("i", "y") dims (n)
  phase (i1:n) {
    "y"[i0,i1] = load f32 (let g0:8 = load i64 ("i"[i0]) in "y"[g0,n+i1])
  }
}
arena size=0
'''
verify(parse_unit(gathered, "gathered"))
ok(True, "a gather from one part of a concatenation into another one")
for change, message in ((("let g0:8", "let g0:9"),
                         "rows: reads y[g0, n + i1], which other points of it store"),
                        (('"y"[i0+8,n+i1]', '"y"[i0+7,n+i1]'),
                         "rows: reads y[g0, n + i1], which other points of it store"),
                        (('"y"[i0,i1] =', '"y"[i0,n+i1] ='),
                         "columns: reads y[g0, n + i1], which other points of it store"),
                        (('in "y"[g0,n+i1])\n  }\n}\narena', 'in "y"[g0,i1+1])\n  }\n}\narena'),
                         "columns: reads y[g0, i1 + 1], which other points of it store")):
    assert change[0] in gathered, change[0]
    raises(LoopError, lambda: verify(parse_unit(gathered.replace(*change), "gathered")), message,
           f"{change[1]}: {message}")
neighbours = '''tensor_compile.loops 1 program
dim n range=0:64 divisor=1
buffer input "x" : f32[n]
buffer output "y" : f32[3*n+3]
loop_nest "part" rows () grain 1 {
  params ("x", "y") dims (n)
  phase (i0:n) {
    "y"[i0] = load f32 ("x"[i0])
  }
}
barrier
loop_nest "padded" rows () grain 1 {
  params ("y") dims (n)
  phase (i0:n+3) {
    "y"[n+i0] = load f32 ("y"[i0-1] if (i0-1,-i0+n) else f32 0x0)
  }
}
barrier
loop_nest "pooled" rows () grain 1 {
  params ("y") dims (n)
  phase (i0:n) {
    "y"[2*n+3+i0] = max.free f32 over (r0:3) (load f32 ("y"[n+4+i0+r0])) if (n-2-i0-r0)
  }
}
arena size=0
'''
verify(parse_unit(neighbours, "neighbours"))
ok(True, "parts that read the one before them under predicates: of a load, of a reduction")
for old, new, message in (("(i0-1,-i0+n)", "(i0-1,-i0+n+1)", "padded: reads y[i0 - 1], which other points of it store"),
                          ("(n-2-i0-r0)", "(n-1-i0-r0)",
                           "pooled: reads y[n + i0 + r0 + 4], which other points of it store")):
    assert old in neighbours, old
    raises(LoopError, lambda: verify(parse_unit(neighbours.replace(old, new), "neighbours")), message,
           f"a predicate that lets one element more through: {message}")

# -- whole models, fused, not fused and plain, under the guards of their entries
for name in ("digits", "mlp", "encoder", "decoder"):
    for plain in (False, True):
        pipeline.run(sample(name), name, TARGET, {}, verify=True, plain=plain, with_reference=not plain)
        ok(True, f"{name}{', plain' if plain else ''}: nothing to say")
EXTERN = '''tensor_compile.loops 1 program
dim n range=1:64 divisor=1
buffer input "x" : f32[n,8]
buffer input "i" : i64[n]
buffer temp "t" : f32[n,8]
buffer temp "u" : i64[n]
buffer output "y" : f32[n,8]
extern "call" "their_function" ("x", "i", "x") to ("t", "u")
  params ("x", "i", "x", "t", "u") dims (n)
barrier
loop_nest "copy" rows (i0:n) grain 1 {
  params ("t", "y") dims (n)
  phase (i1:8) {
    "y"[i0,i1] = load f32 ("t"[i0,i1])
  }
}
arena
slot 32*n
slot 8*n above [0]
place "t" slot=0
place "u" slot=1
'''
verify(parse_unit(EXTERN, "extern"))
ok(print_unit(parse_unit(EXTERN, "extern")) == EXTERN,
   "a call of the user's function: right, and printed as it was read")
for name, message, old, new in (
        ("without a barrier", "copy: reads t where call stores t, with no barrier between", 'barrier\nloop_nest',
         'loop_nest'),
        ("into an output", "call: stores into output y", '"t", "u")', '"y", "u")'),
        ("into its operand", "call: t is a result and another operand", '("x", "i", "x")', '("x", "i", "t")'),
        ("of another order", "call: t is not row-major", '"t" : f32[n,8]', '"t" : f32[n,8] order=[1, 0]')):
    assert old in EXTERN, old
    raises(LoopError, lambda: verify(parse_unit(EXTERN.replace(old, new), "m")), message, f"a call {name}")
done()
