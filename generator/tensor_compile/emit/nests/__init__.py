# SPDX-License-Identifier: Apache-2.0
"""Loop nests of one element, or one vector, after the other: reductions inside a point, rows, windows, transposes."""
