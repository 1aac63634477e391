# SPDX-License-Identifier: Apache-2.0
"""Operations that reports compare with what a processor computes in the same time: a multiply-add is two, what is
loaded, moved or converted is none. Worked out here from what nests are."""
from cases import layer_norm, softmax
from images import depthwise
from tap import done, equal
from tensor_compile.emit.work import kernel_operations, kernel_work
from writing import flat, op

found = {case.name: case.kernel for case in depthwise()}
points = 3 * 5 * 20
one = found["depthwise 3x3/1 of 3x5x20"]
equal(kernel_operations(one).value, points * (9 * 2 + 2), "a window of 9 products: multiplied and added, then two more")
equal(kernel_work(one).value, points * (9 * 4 + 4), "what a team is chosen by counts loads, too")
equal(kernel_operations(found["pooling 3x3/2 of 4x21x33"]).value, 2 * 11 * 33 * 9, "a maximum is one a term")
equal(kernel_operations(softmax(16, False).kernel).value, 3 * 16 * (1 + 3 + 1),
      "softmax: the maximum; a difference, its exp and their sum; a quotient")
equal(kernel_operations(layer_norm(16, False).kernel).value, 2 * 16 * (1 + 4 + 7),
      "layer norm: the sum; centered with the mean, squared and added; centered, divided and scaled")
equal(kernel_operations(flat("cast", 40, False, lambda x, z: op("cast", x, dtype="i32"), "i32").kernel).value, 0,
      "a conversion computes nothing")
equal(kernel_operations(flat("copy", 40, False, lambda x, z: x).kernel).value, 0, "nor does a copy")
equal(kernel_operations(flat("square", 40, False, lambda x, z: op("mul", op("add", x, z), op("add", x, z))).kernel)
      .value, 40 * 2, "what is there already is not computed again")
done()
