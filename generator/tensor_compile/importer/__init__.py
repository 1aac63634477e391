# SPDX-License-Identifier: Apache-2.0
"""Front ends that read a model of another format and write what a person would: a model.c and a safetensors file.

    reader (onnx/wire.py, onnx/model.py)   the file as messages; nothing in it is believed
    front end (onnx/graph.py)              walks the nodes in order, one short function an operation (onnx/ops_*.py)
    values.py                              what is known of a result: its type, its elements, the bytes of a constant
    dims.py                                sizes: expressions over the model's dims, and how C writes them
    problems.py                            what is wrong or unsupported, and the one report of all of it
    program.py                             the statements that the operations write, before they are text
    idioms.py                              steps that are one operation of the language, by its name
    scopes.py                              statements to functions; equal ones become one function called in a loop
    source.py                              statements to C, names, line breaks
    weights.py                             constants to safetensors, byte by byte
    output.py                              both files, written together; what a user has edited is left alone

Types are inferred here as far as shape computations and conditions need them. The capture library infers every type
again when model.c is compiled: it is the judge, and the only producer of graphs. Python never computes with tensors:
what it folds are sizes, axes and single numbers.

A front end may use symbolic/ and errors.py, and nothing of graph/, loops/, emit/ and compile/.
"""
