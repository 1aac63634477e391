# SPDX-License-Identifier: Apache-2.0
"""Layers of layers.h have the values of PyTorch's modules, whose state_dict they read; scopes name them; mistakes are
one line at the call."""
import os
import subprocess
import tempfile
from pathlib import Path

import forked
from tap import done, equal, note, ok
from tensor_compile.compile import tensor_files

HERE = Path(__file__).resolve().parent
CACHE = os.environ["TC_TESTS_CACHE"]
ISA = ("--isa", "avx2") if os.uname().machine == "x86_64" else ()


def run(folder: Path, *words: object) -> subprocess.CompletedProcess:
    return forked.tool(*words, "--cache", CACHE, "-j2", cwd=folder)


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    for name in ("layers.c", "layers.safetensors"):
        (folder / name).symlink_to(HERE / name)
    result = run(folder, "check", "layers.c", *ISA, "--inputs", HERE / "inputs.safetensors", "--expect",
                 HERE / "expected.safetensors", "--rtol", "1e-5")
    lines = [line for line in result.stdout.splitlines() if "expected.safetensors: " in line]
    equal((result.returncode, len(lines)), (0, 22),
          "every layer has PyTorch's values") or note(result.stdout + result.stderr)
    shown = run(folder, "explain", "layers.c", *ISA).stdout
    ok("attention.out_proj layers.c:" in shown and " forward.fc1 layers.c:" in shown,
       "kernels are named by their layers") or note(shown)

    def mistake(name: str, body: str, *messages: str) -> None:
        (folder / "wrong.c").write_text(f'''#include <tensor_compile/model.h>
TC_MODEL(wrong)
{{
    tc_tensor x = tc_input(g, "x", TC_F32, 2, 6, 8);
    tc_weights(g, "layers.safetensors");
    tc_output(g, "y", {body});
}}
''', encoding="utf-8")
        result = run(folder, "build", "wrong.c", "-o", "out")
        ok(result.returncode == 1 and all(m in result.stderr for m in ("wrong.c:6: error: ", *messages))
           and "is still open" not in result.stderr, name) or note(result.stderr)

    mistake("a misspelt layer", 'tc_layer_linear(g, x, "linaer")', 'no weight "linaer.weight" in layers.safetensors',
            'did you mean "linear.weight"')
    mistake("no name", "tc_layer_linear(g, x, NULL)", "tc_layer_linear: argument 'name' is NULL")
    mistake("an empty name", 'tc_layer_conv2d(g, x, "")', "tc_layer_conv2d: argument 'name' is empty")
    mistake("attention without heads", 'tc_layer_attention(g, x, "attention")',
            "tc_layer_attention: heads is 0, kv_heads is 0: name how many there are")
    mistake("attention of another rank", 'tc_layer_attention(g, tc_flatten(x, 1), "attention", .heads = 2)',
            "tc_layer_attention: x is f32[2,48], not of rank 3")
    mistake("a batch norm that is none", 'tc_layer_batch_norm(g, x, "norm")', 'no weight "norm.running_mean"')
    mistake("heads that do not divide", 'tc_layer_attention(g, x, "attention", .heads = 3)',
            "tc_layer_attention: in attention: 8 features do not divide by heads = 3")
    mistake("heads of keys that do not divide", 'tc_layer_attention(g, x, "grouped", .heads = 3, .kv_heads = 3)',
            "8 features do not divide by heads = 3", "4 features do not divide by kv_heads = 3")
    mistake("heads that share none", 'tc_layer_attention(g, x, "grouped", .heads = 4, .kv_heads = 3)',
            "tc_layer_attention: heads = 4 do not divide by kv_heads = 3")
    mistake("a weight without a name", 'tc_has_weight(g, "") ? x : x', "tc_has_weight: argument 'name' is empty")

    (folder / "doubt.c").write_text("""#include <tensor_compile/model.h>
TC_MODEL(doubt)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 2, 6, 8);
    tc_weights(g, "layers.safetensors");
    tc_tensor y = tc_layer_layer_norm(g, x, "nrom");
    tc_output(g, "y", tc_add(y, tc_layer_layer_norm(g, x, "bare")));
    tc_output(g, "z", tc_layer_rms_norm(g, x, "rms_norm"));
    tc_output(g, "r", tc_layer_rms_norm(g, x, "rms"));
}
""", encoding="utf-8")
    result = run(folder, "build", "doubt.c", "-o", "out", "--target", "reference")
    equal((result.returncode, result.stderr),
          (0, 'doubt.c:6: warning: tc_layer_layer_norm: no weight "nrom.weight" in layers.safetensors: '
           'the norm has no weight and no bias\n  hint: did you mean "norm.weight"?\n'),
          "a norm without weights is doubted where a name is near that nothing reads, and there alone")

    (folder / "wrong.c").write_text("""#include <tensor_compile/model.h>
TC_MODEL(wrong)
{
    tc_output(g, "y", tc_input(g, "x", TC_F32, 1.5, 4));
}
""", encoding="utf-8")
    said = run(folder, "build", "wrong.c", "-o", "out").stderr
    wanted = "a size is an integer or a tc_dim, not a floating-point number"
    ok("wrong.c:4:" in said and wanted in said and "detail.h" not in said,
       "a size of 1.5 is one message at the user's line") or note(said)

    # the module and the block of docs/porting.md
    page = (HERE.parents[1] / "docs" / "porting.md").read_text(encoding="utf-8")
    fences = [part.partition("```")[0] for part in page.split("```c\n")[1:]]
    module = page.split("```python\nclass Net")[1].partition("```")[0].splitlines()
    source = "\n".join(line[56:] for line in ["class Net" + module[0], *module[1:]])
    source = source.replace("#include <tensor_compile/model.h>\n", "")
    shapes = {"conv.weight": (8, 1, 3, 3), "conv.bias": (8,), **{f"{bn}.{n}": (8,) for bn in ("bn", "b.bn") for n in
              ("weight", "bias", "running_mean", "running_var")}, "b.conv.weight": (8, 8, 3, 3),
              "fc.weight": (10, 1568), "fc.bias": (10,)}
    tensor_files.write_zeros(folder / "net.safetensors", {k: ("f32", v) for k, v in shapes.items()})
    source = source.replace('x = tc_max', 'x = block(g, x, "b", .residual = true);\n    x = tc_max')
    (folder / "net.c").write_text(f"#include <tensor_compile/model.h>\n{fences[0]}\n{source}\n", encoding="utf-8")
    result = run(folder, "build", "net.c", "-o", "out", "--target", "reference")
    equal((result.returncode, result.stderr), (0, ""), "the page's module and its block build") or note(source)
done()
