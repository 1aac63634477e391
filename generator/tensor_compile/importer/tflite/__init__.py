# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Lite: reader, front end and the table of its operations.

    flatbuffer.py   tables, vectors and strings of a file of which nothing is believed
    schema.py       numbers, names and options of the format, as data
    model.py        the file as tensors and operators
    graph.py        operators in order through the table of operations
    registry.py     the table, and what a function of it works with
    sizes.py        what a model computes of its own sizes, before a call
    variables.py    variables of the model
    rows.py         lists of tensors, as recurrent layers keep their steps
    ops_*.py        one short function an operation
    reader.py       a file to model.c and weights

To add an operation: its options into schema.py where they are not there, and a function in the ops_*.py of its topic,

    @op("LEAKY_RELU", versions=2)
    def leaky_relu(n: Node) -> None:
        x = n.floats(0)
        n.give(f"tc_leaky_relu({x}, {n.option('alpha')})", x.dtype, x.shape)

versions: the newest version of the operation that the function knows.

TensorFlow Lite has channels last; windows of the DSL have channels first. A tensor is held in either order, or in both,
and moved where an operation wants the other one (graph.Held): between windows nothing is moved.
"""
