# SPDX-License-Identifier: Apache-2.0
"""One table of one run: what calls take here and in PyTorch's four modes, and how much of what the chip gives that day.

Everything is compiled first, beside each other; then one after the other measures. Results are checked before they are
timed (speed.py). Needs nvcc, a C compiler, PyTorch and a GPU.

    python3 bench/cuda/table.py [--precision f32|bf16] [--only NAME,…] [--modes MODE,…] [--seconds N] [--work DIR]
                                [--log FILE]

--seconds: how long PyTorch may compile; a mode that has not by then is left out (`-`).
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from run import Log, device, workplace

HERE = Path(__file__).resolve().parent
MODES = ("eager", "default", "reduce-overhead", "max-autotune")
CALL = re.compile(r"^(\S+): with everything on the device the same bits; ([\d.]+) us a call recorded")
TORCH = re.compile(r"^(\S+) (f32|bf16) (.+): ([\d.]+)$")
CEILINGS = """
import torch
def least(call):
    times = []
    for _ in range(30):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2] / 1e3
a, b = (torch.randn(1 << 28, device="cuda") for _ in range(2))
print("copy", 2 * 4 * (1 << 28) / least(lambda: a.copy_(b)) / 1e9)
x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
print("bf16", 2 * 8192 ** 3 / least(lambda: x @ y) / 1e12)
torch.backends.cuda.matmul.allow_tf32 = False
x, y = (torch.randn(4096, 4096, device="cuda") for _ in range(2))
print("f32", 2 * 4096 ** 3 / least(lambda: x @ y) / 1e12)
"""


@dataclass(frozen=True)
class Row:
    """case, call: of speed.py; torch: of torch_speed.py. operations: floating-point ones of a call; elements: that have
    to be read or written at least: weights, inputs, outputs."""

    title: str
    case: str
    call: str
    torch: str
    operations: float
    elements: float


def transformer(layers: int, width: int, batch: int, tokens: int, causal: bool = False) -> float:
    """Operations of encoders or decoders whose inner width is 4 times the outer one."""
    rows = batch * tokens
    return layers * (24.0 * rows * width * width + 4.0 * rows * tokens * width * (0.5 if causal else 1))


def rows(precision: str) -> list[Row]:
    """In f32 those whose models have tensors of f32; Llama's weights have 16 bits."""
    exact = precision == "f32"
    mlp = 784 * 512 + 512 * 512 + 512 * 10
    encoder, gpt = 12 * 12 * 768 * 768, 12 * 12 * 768 * 768 + 50257 * 768
    out = [Row(f"MLP 784-512-512-10, batch {b}", "mlp", f"mlp,batch={b}", f"mlp b{b}", 2.0 * mlp * b, mlp)
           for b in (1, 64)]
    out.append(Row("add, layer norm, gelu, gate, 8192 x 4096", "gated" if exact else "gated16", "gated,rows=8192",
                   "gated 8192", 0.0, 3 * 8192 * 4096))
    out.append(Row("MiniLM, 1 x 128", "minilm", "minilm,batch=1,seq=128", "minilm b1 t128",
                   transformer(6, 384, 1, 128), 6 * 12 * 384 * 384))
    out += [Row(f"BERT-base, {b} x 128", "bert", f"minilm,batch={b},seq=128", f"bert b{b} t128",
                transformer(12, 768, b, 128), encoder) for b in (1, 32)]
    out += [Row(f"ResNet-50, batch {b}", "resnet50", f"resnet50,batch={b}", f"resnet50 b{b}", 8.2e9 * b,
                25.5e6 + 150528.0 * b) for b in (1, 32)]
    out.append(Row("GPT-2 small, 512 tokens, all logits", "gpt2all", "gpt2,length=512", "gpt2 prefill 512",
                   transformer(12, 768, 1, 512, True) + 2.0 * 512 * 768 * 50257, gpt + 512 * 50257))
    out.append(Row("GPT-2 small, a token behind 128", "gpt2", "gpt2_decode,past=128", "gpt2 decode 128",
                   2.0 * gpt, gpt + 12 * 2 * 129 * 768))
    out.append(Row("ViT-B/16, batch 32", "vit", "vit,batch=32", "vit b32", transformer(12, 768, 32, 197) +
                   2.0 * 32 * 196 * 768 * 768, encoder + 32 * 150528))
    if exact:
        return out
    llama = 16 * (2048 * 3072 + 2048 * 2048 + 3 * 2048 * 8192) + 128256 * 2048
    out.append(Row("Llama 3.2 1B's shape, a token behind 512", "llama", "llama,past=512", "llama decode 512",
                   2.0 * llama, llama + 16 * 2 * 8 * 64 * 513))
    return out


def ours(chosen: list[Row], precision: str, work: Path, build: bool) -> dict[str, float]:
    """The median of each call, by case and call; those whose results are not right are not among them."""
    words = [sys.executable, str(HERE / "speed.py"), "--only", ",".join(dict.fromkeys(row.case for row in chosen)),
             "--precision", precision, "--work", str(work)]
    words += [] if precision == "f32" else ["--without-processor"]   # what is rounded is compared with the GPU's f32
    done = subprocess.run([*words, "--build-only"] if build else words, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-2000:] + done.stderr[-2000:], file=sys.stderr)
    found, case = {}, ""
    for line in done.stdout.splitlines():
        if re.fullmatch(r"\S+ (f32|bf16)", line):
            case = line.split()[0]
        if match := CALL.match(line):
            found[f"{case} {match[1]}"] = float(match[2])
        if line.startswith("exit ") or line == "hangs":
            found = {call: time for call, time in found.items() if call.split()[0] != case}
    return found


def torch_times(chosen: list[Row], precision: str, modes: str, seconds: float) -> subprocess.Popen[str]:
    words = [sys.executable, str(HERE / "torch_speed.py"), "--together", "--dtype", precision, "--mode", modes,
             "--seconds", str(seconds), "--only", ",".join(dict.fromkeys(row.torch.split()[0] for row in chosen))]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="bf16")
    parser.add_argument("--only", default="", help="cases of speed.py")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--log", type=Path)
    args = parser.parse_args()
    log, only = Log(args.log), set(filter(None, args.only.split(",")))
    chosen = [row for row in rows(args.precision) if not only or row.case in only]
    with workplace(args.work) as work:
        process = torch_times(chosen, args.precision, args.modes, args.seconds)
        ours(chosen, args.precision, work, True)
        said, _ = process.communicate()
        taken = ours(chosen, args.precision, work, False)
    ceilings = subprocess.run([sys.executable, "-c", CEILINGS], capture_output=True, text=True, check=False).stdout
    chip = {name: float(number) for name, number in (line.split() for line in ceilings.splitlines())}
    theirs: dict[tuple[str, str], float] = {}
    for line in said.splitlines():
        if match := TORCH.match(line):
            theirs[match[1], match[3]] = float(match[4])
    log.say(f"{device()}; {args.precision}; microseconds a call, medians; clocks as found: " + clocks())
    log.say(f"the chip today: copies {chip.get('copy', 0):.0f} GB/s, products of 8192 bf16 "
            f"{chip.get('bf16', 0):.0f} TFLOP/s, of 4096 f32 {chip.get('f32', 0):.1f} TFLOP/s")
    modes, size = args.modes.split(","), 2 if args.precision == "bf16" else 4
    log.say("| call | here | " + " | ".join(modes) + " | best / here | TFLOP/s | GB/s |")
    log.say("| --- |" + " ---: |" * (len(modes) + 4))
    for row in chosen:
        own = taken.get(f"{row.case} {row.call}")
        other = [theirs.get((mode, row.torch)) for mode in modes]
        best = min((t for t in other if t), default=None)
        rates = ["-", "-"]
        if own:
            rates = [rate(row.operations / own / 1e6, chip.get(args.precision)),
                     rate(row.elements * size / own / 1e3, chip.get("copy"))]
        cells = [f"{t:.1f}" if t else "-" for t in (own, *other)]
        log.say(" | ".join(["| " + row.title, *cells, f"{best / own:.2f}" if best and own else "-", *rates]) + " |")
    return not taken


def rate(value: float, most: float | None) -> str:
    """With its part of what the chip gives."""
    return f"{value:.0f} ({100 * value / most:.0f} %)" if most and value else "-"


def clocks() -> str:
    done = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "not told"


if __name__ == "__main__":
    sys.exit(main())
