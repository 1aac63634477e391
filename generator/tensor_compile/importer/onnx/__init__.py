# SPDX-License-Identifier: Apache-2.0
"""ONNX: reader, front end and the tables of its operations.

To add operations: write a function in the ops_*.py of their topic (a new topic: a new file),

    @op("LeakyRelu", since=6)
    def leaky_relu(n: Node) -> None:
        x = n.input(0)
        n.result(f"tc_leaky_relu({x}, {n.real('alpha', 0.01)})", x.dtype, x.shape)

A value in an f-string is its C variable (or weight, or number). `n.result` writes the statement of an output and says
its type, `n.let` that of a step between. `n.refuse` says what is not supported, `n.elements` asks for elements that
have to be known before a call. registry.Node documents all of them. One function an opset range: the one of the largest
`since` that is not above the model's opset is taken.
"""
