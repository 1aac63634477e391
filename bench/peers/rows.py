# SPDX-License-Identifier: Apache-2.0
"""The rows of the comparison: how tensor-compile builds each model and what it is called with. Needs nothing."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
EXAMPLES = BENCH.parent / "examples"
MODELS = BENCH / "peers" / "models"


@dataclass(frozen=True, slots=True)
class Row:
    """model: what peer_networks.py calls it. source: model.c. function: of the generated header. dims: of the call, for
    which a variant is built. defines: of the build, beside WEIGHTS."""

    name: str
    model: str
    source: Path
    function: str
    dims: tuple[tuple[str, int], ...] = ()
    defines: tuple[str, ...] = ()
    label: str = ""

    @property
    def title(self) -> str:
        return self.label or self.name

    @property
    def sizes(self) -> dict[str, int]:
        """Dims and defines."""
        return dict(self.dims) | {name: int(value) for name, value in (d.split("=") for d in self.defines)}


def _own(name: str, label: str, function: str = "", dims: tuple[tuple[str, int], ...] = ()) -> Row:
    return Row(name, name, MODELS / name / "model.c", function or name, dims, label=label)


BERT = ("LAYERS=12", "HIDDEN=768", "HEADS=12")
ROWS = (
    Row("mlp1", "mlp", BENCH / "mlp" / "model.c", "mlp", (("batch", 1),), label="mlp, batch 1"),
    Row("mlp64", "mlp", BENCH / "mlp" / "model.c", "mlp", (("batch", 64),), label="mlp, batch 64"),
    _own("matmul", "matmul 512"),
    _own("conv3x3", "conv 3x3 64->64, 56x56"),
    Row("attention", "attention", BENCH / "attention" / "model.c", "attention_causal",
        label="causal attention 12x512x64"),
    _own("pointwise", "gelu(layernorm(a + b)) * c, 1024x1024"),
    Row("lstm-step", "lstm-step", BENCH / "lstm-step" / "model.c", "lstm_step", label="LSTM step 64->128"),
    Row("mobilenet_v2", "mobilenet_v2", EXAMPLES / "mobilenet_v2" / "model.c", "mobilenet_v2", (("batch", 1),)),
    Row("resnet50", "resnet50", EXAMPLES / "resnet50" / "model.c", "resnet50", (("batch", 1),)),
    _own("vit_tiny", "vit_tiny"),
    Row("minilm", "minilm", EXAMPLES / "minilm" / "model.c", "minilm", (("batch", 1), ("seq", 128)),
        ("LAYERS=6", "HIDDEN=384", "HEADS=12"), "minilm, 128 tokens"),
    Row("bert_base", "bert_base", EXAMPLES / "minilm" / "model.c", "minilm", (("batch", 1), ("seq", 128)), BERT,
        "bert_base, 128 tokens"),
    Row("gpt2", "gpt2", EXAMPLES / "gpt2" / "model.c", "gpt2_prefill", (("length", 128),), label="gpt2, 128 tokens"),
    _own("smollm2", "SmolLM2-135M shape, one token at 256", "smollm2_decode", (("past", 256),)),
    # what a team gains at most
    Row("matmul2048", "matmul", MODELS / "matmul" / "model.c", "matmul", (), ("SIZE=2048",), "matmul 2048"),
    # long contexts
    Row("attention2048", "attention", BENCH / "attention" / "model.c", "attention_causal", (), ("LENGTH=2048",),
        "causal attention 12x2048x64"),
    Row("attention8192", "attention", BENCH / "attention" / "model.c", "attention_causal", (), ("LENGTH=8192",),
        "causal attention 12x8192x64"),
    Row("smollm2_4096", "smollm2", MODELS / "smollm2" / "model.c", "smollm2_decode", (("past", 4096),),
        ("CAPACITY=4608",), "SmolLM2-135M shape, one token at 4096"),
)


def named(names: str) -> list[Row]:
    """The rows with these names, commas between; all for ""."""
    known = {row.name: row for row in ROWS}
    unknown = [n for n in names.split(",") if n and n not in known]
    if unknown:
        raise SystemExit(f"no row {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[n] for n in names.split(",")] if names else list(ROWS)
