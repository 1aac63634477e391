# SPDX-License-Identifier: Apache-2.0
"""PyTorch: archives of torch.export.save, and the tables of their operations.

    archive.py      the zip file: the program as JSON, the bytes of weights; nothing is ever unpickled
    expressions.py  sizes as PyTorch prints them
    graph.py        nodes in order through the table of operations; states, views, branches
    outputs.py      names of the program's outputs
    registry.py     the table, and what a function of it works with
    ops_*.py        one short function an operation
    reader.py       an archive to model.c and weights

PyTorch's archive says the type of every result, so a function of the table only writes the call:

    @op("aten.leaky_relu.default")
    def leaky_relu(n: Node) -> None:
        n.result(f"tc_leaky_relu({n.tensor('self')}, {n.real('negative_slope', 0.01)})")

An argument is named as in PyTorch's schema. An argument that no function reads is reported as unsupported.
"""
