# SPDX-License-Identifier: Apache-2.0
"""The weights of silero_vad_sequence.onnx as safetensors under the names of examples/lstm-vad.

  silero.py MODEL.onnx OUT.safetensors

Protocol buffers: https://protobuf.dev/programming-guides/encoding; field numbers from onnx.proto3 (ModelProto.graph 7,
GraphProto.initializer 5, TensorProto: dims 1, name 8, raw_data 9).
"""
from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Iterator

HIDDEN = 128


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(number, value) of each field of a message: an integer, or the bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
        elif kind == 2:
            size = varint()
            yield number, data[at:at + size]
            at += size
        else:
            size = {1: 8, 5: 4}[kind]
            yield number, data[at:at + size]
            at += size


def tensor(data: memoryview) -> tuple[str, list[int], bytes]:
    """(name, shape, elements) of an f32 initializer."""
    name, shape, raw = "", [], b""
    for number, value in fields(data):
        if number == 1 and isinstance(value, int):
            shape.append(value)
        elif number == 1:
            raise SystemExit("packed dims are not expected")
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = bytes(value)
    return name, shape, raw


def gates(raw: bytes) -> bytes:
    """From ONNX's order of gates (input, output, forget, cell) to PyTorch's (input, forget, cell, output)."""
    size = len(raw) // 4
    part = [raw[i * size:(i + 1) * size] for i in range(4)]
    return part[0] + part[2] + part[3] + part[1]


def weights(path: Path) -> dict[str, tuple[list[int], bytes]]:
    graph = next(value for number, value in fields(memoryview(path.read_bytes())) if number == 7)
    found = {name: (shape, raw) for name, shape, raw in (tensor(v) for n, v in fields(graph) if n == 5)}
    out = {"stft_conv.weight": found["stft.forward_basis_buffer"]}
    for i in range(4):
        for kind in ("weight", "bias"):
            out[f"conv{i + 1}.{kind}"] = found[f"encoder.{i}.{kind}"]
    out |= {f"final_conv.{kind}": found[f"output.{kind}"] for kind in ("weight", "bias")}
    # operands W, R and B of the LSTM, in this order in the file
    inner, recurrent, bias = (raw for name, (_, raw) in found.items() if "LSTM" in name)
    out["lstm_cell.weight_ih"] = [4 * HIDDEN, HIDDEN], gates(inner)
    out["lstm_cell.weight_hh"] = [4 * HIDDEN, HIDDEN], gates(recurrent)
    half = len(bias) // 2
    out["lstm_cell.bias_ih"] = [4 * HIDDEN], gates(bias[:half])
    out["lstm_cell.bias_hh"] = [4 * HIDDEN], gates(bias[half:])
    return out


def save(tensors: dict[str, tuple[list[int], bytes]], path: Path) -> None:
    header, at = {}, 0
    for name, (shape, raw) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(raw for _, raw in tensors.values()))


if __name__ == "__main__":
    save(weights(Path(sys.argv[1])), Path(sys.argv[2]))
