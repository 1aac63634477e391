# SPDX-License-Identifier: Apache-2.0
"""The sample graphs through all passes of the loop IR: equal bits, and the kernels that they should become."""
from harness import compare, compare_ways, sample, tiny_encoder
from tap import done, equal, note, ok
from tensor_compile.graph.text import parse_module
from tensor_compile.loops.loop_ir import CheckKernel, ContractionKernel, LoopNestKernel, GroupedContractionKernel


def labels(program) -> list[str]:
    return [s.kernel.label for s in program.steps if not s.kernel.label == "pack"]


digits = parse_module(sample("digits"), "digits.tcg")
for fused in (True, False):
    differences, program, _ = compare_ways((False, True), digits, "digits", {"batch": 2}, fused=fused)
    for difference, way in zip(differences, ("", ", rows backwards"), strict=True):
        equal(difference, "", f"digits, {'fused' if fused else 'separate'}{way}")
difference, program, _ = compare(digits, "digits", {"batch": 1}, extreme=True)
equal(difference, "", "digits on extreme data")
equal(labels(program), ["conv2d_relu", "max_pool2d", "conv2d_relu", "max_pool2d", "linear", "softmax"],
      "digits is six kernels")


encoder = parse_module(tiny_encoder(), "encoder.tcg")
for batch, seq in ((1, 1), (2, 3), (1, 17)):
    for fused in (True, False):
        difference, program, _ = compare(encoder, "encoder", {"batch": batch, "seq": seq}, fused=fused,
                                         backwards=fused, below=10)
        equal(difference, "", f"encoder, batch {batch}, {seq} tokens, {'fused' if fused else 'separate'}")
_, program, _ = compare(encoder, "encoder", {"batch": 1, "seq": 2}, below=10)
layer = [k for k in labels(program)]
note(" ".join(layer))
kernels = [s.kernel for s in program.steps]
ok(isinstance(kernels[0], CheckKernel), "indices are looked at first")
ok(program.steps[1].barrier, "and by all threads before anything is written")
contractions = [part for k in kernels if isinstance(k, (ContractionKernel, GroupedContractionKernel))
                for part in k.contractions]
equal(len(contractions), 2 * 8, "eight contractions a layer")
packs = [k for k in kernels if isinstance(k, LoopNestKernel) and k.label == "pack"
         and not any(b.kind == "packed" for b in k.params)]
equal(len(packs), 2, "one run-time pack a layer: the keys")
done()
