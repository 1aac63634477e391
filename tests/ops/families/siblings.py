# SPDX-License-Identifier: Apache-2.0
"""Products of one operand."""
from __future__ import annotations

SIZES = [{"rows": n} for n in (0, 1, 2, 5, 6, 7, 16, 29, 70, 128, 130)]

SPECIALIZED = {"rows": (1, 29, 128)}

FLOATS = ("f16", "bf16")

# the product, its bias, sigmoid and two products; then down and the sum; four products, a sigmoid, a tanh and three
# more; two products, a bias, their sum, sigmoid and the state's product, as many of the other two gates, their product,
# the sum, its tanh, the last gate's and the product; three products, a tanh and three more
ROUNDINGS = {"op_split": 5, "op_gated": 7, "op_met": 9, "op_behind": 20, "op_behind_two": 7}
