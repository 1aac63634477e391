# SPDX-License-Identifier: Apache-2.0
"""What compute-sanitizer finds in small models that have every form of kernel, in every precision; results are compared
with the processor's. Needs nvcc, a C compiler and a GPU.

    python3 bench/cuda/sanitize.py [--log FILE] [--work DIR] [--precision f32,tf32,bf16,f16] [--only NAME,…]
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from run import ROOT, SANITIZERS, Log, comparison, device, library, make_weights, sanitizer

MODELS = ROOT / "bench" / "cuda" / "models"
TOOLS = (*SANITIZERS, "synccheck")
TOLERANCE = {"f32": "1e-4", "tf32": "0.02", "bf16": "0.08", "f16": "0.02"}


@dataclass(frozen=True)
class Small:
    """model: its name, where that is another; weights: the source of the program that writes them, and its options;
    calls: with what stands
    before them."""

    name: str
    source: Path
    options: tuple[str, ...]
    calls: tuple[str, ...]
    weights: tuple[Path | str, ...] = ()
    model: str = ""


def models() -> list[Small]:
    example, tests = ROOT / "examples", ROOT / "tests"
    llama = ("-DLAYERS=1", "-DVOCABULARY=512")
    return [
        Small("attend", tests / "cuda/attend.c", ("--specialize", "length=130"),
              ("attend,length=130", "attend,length=33")),
        Small("decoder_model", tests / "decoder/model.c", (),
              ("--below", "ids=96", "decoder_model_prefill,length=32", "decoder_model_decode,past=32")),
        Small("mlp", MODELS / "mlp.c", ("--specialize", "batch=1,64"), ("mlp,batch=1", "mlp,batch=64", "mlp,batch=5"),
              (MODELS / "make_weights.c", "-DMLP")),
        Small("gated", MODELS / "gated.c", ("--specialize", "rows=8"), ("gated,rows=8", "gated,rows=3"),
              (MODELS / "make_weights.c", "-DGATED")),
        Small("llama", MODELS / "llama.c", (*llama, "--specialize", "past=300"),
              ("--below", "ids=512", "llama,past=300", "llama,past=5"), (MODELS / "make_weights.c", "-DLLAMA", *llama)),
        Small("minilm", example / "minilm/model.c",
              ("-DLAYERS=1", "-DHIDDEN=384", "-DHEADS=12", "--specialize", "batch=1", "--specialize", "seq=128"),
              ("--below", "ids=30522", "minilm,batch=1,seq=128", "minilm,batch=2,seq=5"),
              (example / "minilm/make_weights.c",)),
        Small("minilm_wide", example / "minilm/model.c",
              ("-DLAYERS=1", "-DHIDDEN=768", "-DHEADS=12", "--specialize", "batch=1", "--specialize", "seq=128"),
              ("--below", "ids=30522", "minilm,batch=1,seq=128", "minilm,batch=3,seq=9"),
              (MODELS / "make_weights.c", "-DBERT"), "minilm"),
        Small("minilm_rows", example / "minilm/model.c",
              ("-DLAYERS=1", "-DHIDDEN=768", "-DHEADS=12", "--specialize", "batch=32", "--specialize", "seq=128"),
              ("--below", "ids=30522", "minilm,batch=32,seq=128"),
              (MODELS / "make_weights.c", "-DBERT"), "minilm"),
        Small("unet", example / "unet/model.c", (), ("unet,height=16,width=16",), (example / "unet/make_weights.c",)),
    ]


def build(model: Small, precision: str, work: Path, cc: str, target: str) -> Path:
    """precision: "" for the processor."""
    options = [*model.options]
    if model.weights:
        options.append(f'-DWEIGHTS="{work}/{model.name}.safetensors"')
    if precision:
        options += ["--target", "cuda", "--target-file", target]
        options += ["--precision", precision] if precision != "f32" else []
    return library(model.source, work, work / model.name / (precision or "cpu"), cc, *options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--target-file", default="cuda-sm90")
    parser.add_argument("--precision", default="f32,tf32,bf16,f16")
    parser.add_argument("--only", default="")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--seconds", type=float, default=1e9, help="starts nothing further after that")
    args = parser.parse_args()
    cc, log, begun = os.environ.get("CC", "cc"), Log(args.log), time.time()
    chosen = [m for m in models() if not args.only or m.name in args.only.split(",")]
    precisions, tools = args.precision.split(","), list(filter(None, args.tools.split(",")))
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(14) as pool:
        work = (args.work or Path(place)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        log.say(f"device: {device()}")
        compare = comparison(work, cc)
        list(pool.map(lambda m: make_weights(work / f"{m.name}.safetensors", cc, *m.weights),
                      [m for m in chosen if m.weights]))
        jobs = [(m, p) for m in chosen for p in ("", *precisions)]
        built = dict(zip(jobs, pool.map(lambda job: build(*job, work, cc, args.target_file), jobs)))
        log.say(f"built after {time.time() - begun:.0f} s")

        def one(job: tuple[str, Small, str]) -> tuple[str, bool]:
            tool, model, precision = job
            words = [*(sanitizer(tool) if tool else []), compare, built[model, ""], built[model, precision],
                     model.model or model.name,
                     *(() if tool else ("--repeat", "3")), "--tolerance", TOLERANCE[precision], *model.calls]
            if time.time() - begun > args.seconds:
                return f"{model.name} {precision} {tool}: no time left", False
            try:
                done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=120)
            except subprocess.TimeoutExpired:
                return f"{model.name} {precision} {tool}: hangs", False
            lines = (done.stdout + done.stderr).splitlines()
            said = [line.replace("=", "").strip() for line in lines if "SUMMARY" in line] if tool else []
            title = f"{model.name} {precision} {tool or 'alone'}: exit {done.returncode}, {'; '.join(said)}"
            if done.returncode:
                title += "\n  " + "\n  ".join(line for line in lines if "elements differ" not in line
                                              or "FAILED" in line)[:1500]
            return title, done.returncode == 0

        good = True
        for tool in ("", *tools):     # alone first: what hangs or is wrong is seen before the tools run
            for text, right in pool.map(one, [(tool, m, p) for m in chosen for p in precisions]):
                log.say(text)
                good &= right
    log.say("all clean" if good else "FAILED")
    return not good


if __name__ == "__main__":
    sys.exit(main())
