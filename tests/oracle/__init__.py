# SPDX-License-Identifier: Apache-2.0
"""The tests' oracle, in Python: what scalars, graph functions and programs of the loop IR mean (docs/numerics.md,
docs/graph.md, docs/loops.md), element by element. It shares no code with the product but the data of both IRs.

scalars.py   values of every dtype, scalar operations, reductions in their orders
graph.py     functions of the graph IR
programs.py  programs of the loop IR, with their memory as planned
"""
