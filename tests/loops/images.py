# SPDX-License-Identifier: Apache-2.0
"""Graphs of functions of one image."""
from __future__ import annotations

from harness import module_of

LOC = 'loc("m.c":1)'


class Image:
    """The graph of a function of one image, layer by layer."""

    def __init__(self, batch: str, channels: int, tall: int, wide: int):
        self.batch, self.channels, self.tall, self.wide = batch, channels, tall, wide
        self.parameter = f'%0 "x" : {self.type} {LOC}'
        self.lines: list[str] = []
        self.weights: list[tuple[str, str]] = []
        self.last, self.next = 0, 1

    @property
    def type(self) -> str:
        return f"f32[{self.batch},{self.channels},{self.tall},{self.wide}]"

    def put(self, text: str) -> int:
        self.lines.append(f"%{self.next} = {text} {LOC}")
        self.last, self.next = self.next, self.next + 1
        return self.last

    def shrink(self, size: int, stride: int, low: int, high: int, dilation: int = 1) -> None:
        reach = (size - 1) * dilation + 1
        self.tall, self.wide = ((n + low + high - reach) // stride + 1 for n in (self.tall, self.wide))

    def conv(self, out: int, size: int = 1, stride: int = 1, low: int = 0, high: int = 0, groups: int = 1,
             dilation: int = 1) -> Image:
        x, name = self.last, f"w{len(self.weights)}"
        self.weights.append((name, f"f32[{out},{self.channels // groups},{size},{size}]"))
        w = self.put(f'weight() {{name="{name}"}} : {self.weights[-1][1]}')
        self.channels = out
        self.shrink(size, stride, low, high, dilation)
        self.put(f"convolution(%{x}, %{w}) {{stride=[{stride}, {stride}], low=[{low}, {low}], high=[{high}, {high}], "
                 f"dilation=[{dilation}, {dilation}], groups={groups}}} : {self.type}")
        return self

    def depthwise(self, stride: int = 1, low: int = 1, high: int = 1, dilation: int = 1) -> Image:
        return self.conv(self.channels, 3, stride, low, high, self.channels, dilation)

    def pool(self, size: int, stride: int, low: int = 0) -> Image:
        x = self.last
        self.shrink(size, stride, low, low)
        self.put(f"window_reduce(%{x}) {{op=max, size=[{size}, {size}], stride=[{stride}, {stride}], low=[{low}, {low}], "
                 f"high=[{low}, {low}], dilation=[1, 1]}} : {self.type}")
        return self

    def add(self, other: int) -> Image:
        self.put(f"add(%{self.last}, %{other}) : {self.type}")
        return self

    def module(self):
        body = "\n".join(f"  {line}" for line in (*self.lines, f'return "y" %{self.last} {LOC}'))
        return module_of(f"function f({self.parameter}) entry {{\n{body}\n}}\n", dims=("n 1:4",),
                         weights=tuple(self.weights))
