# SPDX-License-Identifier: Apache-2.0
"""What PyTorch takes for models of the shapes of bench/cuda/speed.py, with TF32 off: eager, and compiled in each mode.
Prints medians of calls in microseconds.

    python3 bench/cuda/torch_speed.py [--dtype f32,bf16] [--mode eager,default,…] [--only NAME,…] [--seconds N]
                                      [--together]

--together: each model has a process of its own, which compiles it in every mode; when all have, or N seconds have
passed, one after the other measures. Nothing else should be measured until then: what compiles runs kernels, too.
"""
from __future__ import annotations

import argparse
import fcntl
import os
import statistics
import subprocess
import sys
import threading
import time

if "--together" not in sys.argv:     # whoever starts the others needs none of it
    import torch
    from torch import nn
    from torch.nn import functional as F
else:
    from types import SimpleNamespace
    nn = SimpleNamespace(Module=object)

SECONDS = 0.3


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool, before: bool, tanh: bool):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.a, self.b = nn.LayerNorm(width), nn.LayerNorm(width)
        self.heads, self.causal, self.before, self.tanh = heads, causal, before, "tanh" if tanh else "none"

    def attend(self, x, cache=None, past=0):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if cache is not None:
            cache[0][:, :, past:past + length] = k
            cache[1][:, :, past:past + length] = v
            k, v = cache[0][:, :, :past + length], cache[1][:, :, :past + length]
        a = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and cache is None)
        return self.out(a.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, cache=None, past=0):
        if self.before:
            x = x + self.attend(self.a(x), cache, past)
            return x + self.down(F.gelu(self.up(self.b(x)), approximate=self.tanh))
        x = self.a(x + self.attend(x))
        return self.b(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, width=768, layers=12, heads=12):
        super().__init__()
        self.word, self.position, self.norm = nn.Embedding(30522, width), nn.Embedding(512, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads, False, False, False) for _ in range(layers))

    def forward(self, ids):
        x = self.norm(self.word(ids) + self.position.weight[:ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return x.mean(1)


class Gpt2(nn.Module):
    def __init__(self, past=None):
        super().__init__()
        self.word, self.position, self.norm = nn.Embedding(50257, 768), nn.Embedding(1024, 768), nn.LayerNorm(768)
        self.layers = nn.ModuleList(Layer(768, 12, True, True, True) for _ in range(12))
        self.past = past
        if past is not None:
            self.register_buffer("cache", torch.zeros(12, 2, 1, 12, 1024, 64))

    def forward(self, ids):
        start = self.past or 0
        x = self.word(ids) + self.position.weight[start:start + ids.shape[1]]
        for i, layer in enumerate(self.layers):
            x = layer(x, None if self.past is None else self.cache[i], start)
        return F.linear(self.norm(x), self.word.weight)


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride, first):
        super().__init__()
        def conv(a, b, size, step):
            return nn.Sequential(nn.Conv2d(a, b, size, step, size // 2, bias=False), nn.BatchNorm2d(b))
        self.a, self.b, self.c = conv(inside, width, 1, 1), conv(width, width, 3, stride), conv(width, 4 * width, 1, 1)
        self.down = conv(inside, 4 * width, 1, stride) if first else nn.Identity()

    def forward(self, x):
        return F.relu(self.c(F.relu(self.b(F.relu(self.a(x))))) + self.down(x))


def resnet50() -> nn.Module:
    layers, inside = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        for i in range(count):
            layers.append(Bottleneck(inside, 64 << stage, 2 if stage and i == 0 else 1, i == 0))
            inside = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(4096), nn.Parameter(torch.ones(4096))

    def forward(self, x, r):
        return F.gelu(self.norm(x + r)) * self.gate


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.norm, self.head = nn.Conv2d(3, 768, 16, 16), nn.LayerNorm(768), nn.Linear(768, 1000)
        self.cls, self.position = nn.Parameter(torch.zeros(1, 1, 768)), nn.Parameter(torch.zeros(1, 197, 768))
        self.layers = nn.ModuleList(Layer(768, 12, False, True, False) for _ in range(12))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class LlamaLayer(nn.Module):
    def __init__(self, width=2048, heads=32, keys=8, inner=8192, past=512):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, (heads + 2 * keys) * 64, bias=False), nn.Linear(width, width, bias=False)
        self.gate_up, self.down = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)
        self.a, self.b = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.heads, self.keys, self.past = heads, keys, past
        self.register_buffer("cache", torch.zeros(2, 1, keys, 1024, 64))

    def forward(self, x, cosines, sines):
        def turn(t):
            first, second = t.chunk(2, -1)
            return t * cosines + torch.cat([-second, first], -1) * sines
        q, k, v = self.qkv(self.a(x)).view(1, 1, -1, 64).transpose(1, 2).split([self.heads, self.keys, self.keys], 1)
        self.cache[0][:, :, self.past:self.past + 1] = turn(k)
        self.cache[1][:, :, self.past:self.past + 1] = v
        k, v = self.cache[0][:, :, :self.past + 1], self.cache[1][:, :, :self.past + 1]
        a = F.scaled_dot_product_attention(turn(q), k, v, enable_gqa=True)
        x = x + self.out(a.transpose(1, 2).reshape(1, 1, -1))
        gate, up = self.gate_up(self.b(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    """A decode step of Llama 3.2 1B's shape behind 512 others."""

    def __init__(self):
        super().__init__()
        self.word, self.norm = nn.Embedding(128256, 2048), nn.RMSNorm(2048, eps=1e-5)
        self.layers = nn.ModuleList(LlamaLayer() for _ in range(16))
        self.register_buffer("angles", torch.randn(2, 1, 64))

    def forward(self, ids):
        x = self.word(ids)
        for layer in self.layers:
            x = layer(x, self.angles[0], self.angles[1])
        return F.linear(self.norm(x), self.word.weight)


def models() -> dict:
    """name: (module, inputs made for a device and dtype)"""
    def tokens(batch, length, most):
        return lambda kind: (torch.randint(most, (batch, length), device="cuda"),)
    def floats(*shapes):
        return lambda kind: tuple(torch.randn(*shape, device="cuda", dtype=kind) for shape in shapes)
    mlp = lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                nn.Linear(512, 10))
    return {"mlp b1": (mlp, floats((1, 784))), "mlp b64": (mlp, floats((64, 784))),
            "gated 8192": (Gated, floats((8192, 4096), (8192, 4096))),
            "bert b1 t128": (Bert, tokens(1, 128, 30522)), "bert b32 t128": (Bert, tokens(32, 128, 30522)),
            "resnet50 b1": (resnet50, floats((1, 3, 224, 224))), "resnet50 b32": (resnet50, floats((32, 3, 224, 224))),
            "gpt2 prefill 512": (Gpt2, tokens(1, 512, 50257)),
            "gpt2 decode 128": (lambda: Gpt2(128), tokens(1, 1, 50257)),
            "llama decode 512": (Llama, tokens(1, 1, 128256)),
            "vit b32": (Vit, floats((32, 3, 224, 224))),
            "minilm b1 t128": (lambda: Bert(384, 6, 12), tokens(1, 128, 30522))}


def measure(call) -> float:
    for _ in range(4):
        call()
    torch.cuda.synchronize()
    times, started = [], time.time()
    while len(times) < 10 or (time.time() - started < SECONDS and len(times) < 100):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(10):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 100)
    return statistics.median(times)


def together(names: list[str], words: list[str], seconds: float) -> None:
    """Starts a process a model, and lets those measure that have compiled, one by one."""
    begun = time.time()
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "2"}
    processes = [subprocess.Popen([sys.executable, __file__, *words, "--only", name, "--wait"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=environment) for name in names]
    lines: list[list[str]] = [[] for _ in names]

    def read(process: subprocess.Popen, into: list[str]) -> None:
        for line in process.stdout:
            into.append(line.strip())

    readers = [threading.Thread(target=read, args=pair, daemon=True) for pair in zip(processes, lines)]
    for reader in readers:
        reader.start()
    while time.time() - begun < seconds and not all("ready" in said or not reader.is_alive()
                                                    for said, reader in zip(lines, readers)):
        time.sleep(0.2)
    for name, process, said, reader in zip(names, processes, lines, readers):
        if "ready" in said:
            process.stdin.write("go\n")
            process.stdin.flush()
            reader.join(120)
        print("\n".join(line for line in said if line != "ready") or f"{name}: not compiled in time", flush=True)
    for process in processes:
        process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", default="f32,bf16")
    parser.add_argument("--mode", default="eager,default,reduce-overhead,max-autotune")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="starts no further measurement after that")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--lock", default="", help="a file that is locked while a process measures, as others do")
    parser.add_argument("--wait", action="store_true", help="compile, say `ready`, and measure when a line is read")
    args = parser.parse_args()
    begun = time.time()
    if args.together:
        words = ["--dtype", args.dtype, "--mode", args.mode, "--seconds", str(args.seconds), "--lock", args.lock]
        names = [name for name in models() if not args.only or name.split()[0] in args.only.split(",")]
        together(names, words, args.seconds)
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, microseconds a call", flush=True)
    compiled = []
    for mode in args.mode.split(","):
        for dtype in args.dtype.split(","):
            for name, (make, given) in models().items():
                if args.only and not {name, name.split()[0]} & set(args.only.split(",")):
                    continue
                if time.time() - begun > args.seconds:
                    print(f"{mode} {dtype} {name}: time is up", flush=True)
                    continue
                kind = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[dtype]
                try:
                    torch.manual_seed(0)
                    module = make().cuda().to(kind).eval()
                    if name.startswith("resnet"):
                        module = module.to(memory_format=torch.channels_last)
                    inputs = given(kind)
                    if not args.wait:
                        torch._dynamo.reset()
                    call = module if mode == "eager" else torch.compile(module, mode=mode)
                    with torch.inference_mode():
                        if args.wait:
                            for _ in range(4):
                                call(*inputs)
                            compiled.append((f"{mode} {dtype} {name}", call, inputs))
                            continue
                        print(f"{mode} {dtype} {name}: {measure(lambda: call(*inputs)):.1f}", flush=True)
                except Exception as error:  # one that fails is no reason to lose the others
                    print(f"{mode} {dtype} {name}: {type(error).__name__}: {str(error)[:120]}", flush=True)
    if not args.wait:
        return
    print("ready", flush=True)
    sys.stdin.readline()
    with open(args.lock or os.devnull, "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        measure_all(compiled)


def measure_all(compiled: list) -> None:
    for title, call, inputs in compiled:
        with torch.inference_mode():
            print(f"{title}: {measure(lambda: call(*inputs)):.1f}", flush=True)


if __name__ == "__main__":
    main()
