# SPDX-License-Identifier: Apache-2.0
"""Bytes that kernels move, computed from their loads and stores, against a run that counts them."""
from harness import compare, sample, tiny_encoder
from tap import done, equal, ok
from tensor_compile.graph.text import parse_module
from tensor_compile.loops.traffic import traffic

for name, module, entry, sizes in (
        ("digits", parse_module(sample("digits"), "digits.tcg"), "digits", {"batch": 2}),
        ("encoder", parse_module(tiny_encoder(), "encoder.tcg"), "encoder", {"batch": 2, "seq": 3})):
    _, program, counts = compare(module, entry, sizes, below=10)
    dims = {d.sym: sizes[n] for n, d in module.dims.items()}
    for step, (read, written) in zip(program.steps, counts, strict=True):
        t, label = traffic(step.kernel, dims), f"{name}: {step.kernel.label}"
        equal(t.written, written, f"{label} writes {written} bytes")
        if any(b.name == "embeddings.word_embeddings.weight" for b in step.kernel.params):
            ok(t.read >= read, f"{label} reads at most {t.read} bytes")  # a word may be looked up twice
        else:
            equal(t.read, read, f"{label} reads {read} bytes")
done()
