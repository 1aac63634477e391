# SPDX-License-Identifier: Apache-2.0
"""Writes layers.safetensors, inputs.safetensors and expected.safetensors: PyTorch's modules, their state_dict, what
they make of random inputs. Needs torch and safetensors."""
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

HERE = Path(__file__).resolve().parent
torch.manual_seed(13)


class Separate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.o_proj = nn.Linear(8, 8), nn.Linear(8, 8, bias=False)
        self.k_proj, self.v_proj = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, 4, 2).transpose(1, 2)
        k, v = (p(x).view(b, n, 2, 2).transpose(1, 2) for p in (self.k_proj, self.v_proj))
        y = nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, n, 8))


class All(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.plain = nn.Linear(8, 6), nn.Linear(8, 3, bias=False)
        self.norm, self.bare, self.rms = nn.LayerNorm(8,
                                                      1e-3), nn.LayerNorm(8, elementwise_affine=False), nn.RMSNorm(8,
                                                                                                                   1e-6)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.grouped = Separate()
        self.forward_ = nn.ModuleDict({"fc1": nn.Linear(8, 12), "fc2": nn.Linear(12, 8)})
        self.gated = nn.ModuleDict({"up": nn.Linear(8, 12, bias=False), "gate": nn.Linear(8, 12, bias=False),
                                    "down": nn.Linear(12, 8, bias=False)})
        self.lstm = nn.LSTM(8, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.inner = nn.ModuleDict({"gru": nn.GRU(8, 5, batch_first=True)})
        self.table = nn.Embedding(10, 4)
        self.conv2d = nn.Conv2d(4, 6, 3, stride=2, padding=(1, 0))
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False)
        self.batch_norm, self.group_norm = nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
        self.conv1d, self.conv3d = nn.Conv1d(4, 3, 2, dilation=2), nn.Conv3d(1, 2, (2, 3, 3), padding=(0, 1, 1))
        self.head = nn.ModuleList(nn.Linear(8, 2) for _ in range(3))


model = All().eval()
for name, p in [*model.named_parameters(), *model.named_buffers()]:
    if p.is_floating_point():
        p.data = torch.rand_like(p) + 0.5 if name.endswith("running_var") else torch.randn_like(p) * 0.5
inputs = {"x": torch.randn(2, 6, 8), "memory": torch.randn(2, 5, 8), "keep": torch.rand(6, 5) > 0.4,
          "index": torch.randint(0, 10, (2, 3)), "image": torch.randn(2, 4, 9, 7)}
inputs["keep"][:, 0] = True
double = model.double()
x, memory, image = (inputs[n].double() for n in ("x", "memory", "image"))
future = torch.triu(torch.ones(6, 6, dtype=torch.bool), 1)      # of this module a mask drops where it is True
f, gated = double.forward_, double.gated
with torch.no_grad():
    causal = double.attention(x, x, x, attn_mask=future)[0]
    double.attention.num_heads, double.attention.head_dim = 4, 2
    rows = [head(x[:, 0]) for head in double.head]
    expected = {
        "linear": double.linear(x), "plain": double.plain(x), "layer_norm": double.norm(x), "bare_norm": double.bare(x),
        "rms_norm": double.rms(x), "causal": causal,
        "cross": double.attention(x, memory, memory, attn_mask=~inputs["keep"])[0], "grouped": double.grouped(x),
        "forward": f["fc2"](nn.functional.gelu(f["fc1"](x))),
        "forward_in_scope": f["fc2"](nn.functional.gelu(f["fc1"](x))),
        "gated": gated["down"](nn.functional.silu(gated["gate"](x)) * gated["up"](x)), "lstm": double.lstm(x)[0],
        "gru": double.inner["gru"](x)[0], "embedding": double.table(inputs["index"]), "conv2d": double.conv2d(image),
        "grouped_conv": double.depthwise(image), "batch_norm": double.batch_norm(image),
        "group_norm": double.group_norm(image), "conv1d": double.conv1d(image[:, :, 0]),
        "conv3d": double.conv3d(image[:, None]), "stacked": torch.stack(rows, 1), "joined": torch.cat(rows, 1)}
weights = {k.replace("forward_", "forward"): v.float().contiguous() if v.is_floating_point() else v
           for k, v in model.state_dict().items()}
save_file(weights, HERE / "layers.safetensors")
save_file(inputs, HERE / "inputs.safetensors")
save_file({k: v.contiguous() for k, v in expected.items()}, HERE / "expected.safetensors")
