# SPDX-License-Identifier: Apache-2.0
"""What sums start from: a bias that is added to all that is stored of them; and no number that only known terms have,
which kernels of a dynamic number of terms are written without, on every instruction set."""
from __future__ import annotations

from dataclasses import replace

from cases import causal, dim, matmul, typed
from tap import done, ok
from tensor_compile import target as targets
from tensor_compile.emit.contraction.biases import bias_of
from tensor_compile.emit.contraction.candidates import choose
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.instruction_sets import instruction_set
from tensor_compile.loops import products
from tensor_compile.loops.loop_ir import Store
from tensor_compile.loops.scalar_ir import Acc, Buffer
from tensor_compile.symbolic import sym

mixed = products.integers("u8", "i8", "x86_64")[0]
biased = typed(37, 64, 128, mixed)
ok(bias_of(biased), "sums start from a bias that is added to them alone")
(store,) = biased.stores
plain = Buffer("plain", "i32", next(p.shape for p in biased.params if p.name == store.buffer), (0, 1), "output")
both = replace(biased, stores=(store, Store("plain", store.index, Acc("i32"))), params=(*biased.params, plain))
ok(bias_of(both) is None, "sums that are stored without it, too, start from zeros")

m, n, k, b = (sym(dim(name)) for name in "mnkb")
for arch in ("x86_64", "aarch64", "riscv64"):
    target = targets.load(targets.find(arch))
    short = products.integers("i8", "i8", arch)[0]
    for isa in (*target.isas, *(i for i in target.integer_isas if not instruction_set(i).tiles)):
        kernels = [typed(m, 33, k, short, target.panel)]
        if isa not in target.integer_isas:
            kernels += [matmul(m, n, k, 0, b, bias=False), matmul(4, n, k, 0, bias=False),
                        causal(m, n, k), matmul(m, 64, k, target.panel)]
        texts = [emit_contraction(kernel, [choose(kernel, isa, target)], "kernel").text for kernel in kernels]
        ok(all(texts), f"{isa}: {len(texts)} kernels of a dynamic number of terms")
done()
