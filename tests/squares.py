# SPDX-License-Identifier: Apache-2.0
"""Winograd's transformations (graph/winograd.py, winograd_integers.py) of numbers, for the tests of both."""


class Exact:
    """The arithmetic of numbers as they are."""

    @staticmethod
    def add(a, b):
        return a + b

    @staticmethod
    def sub(a, b):
        return a - b

    @staticmethod
    def scale(by, a):
        return by * a


def both(transform, arithmetic, square):
    """A transformation of the rows of a square, then of its columns."""
    columns = list(zip(*[transform(arithmetic, list(line)) for line in zip(*square)]))
    return [transform(arithmetic, list(line)) for line in columns]
