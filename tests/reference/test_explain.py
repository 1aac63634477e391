# SPDX-License-Identifier: Apache-2.0
"""What `explain` prints, against a run of the same programs that counts every element that a kernel touches."""
import os
import random
import re
import struct
import tempfile
from pathlib import Path

import models
from oracle import programs
from oracle.scalars import rounded
from tap import done, equal, note, ok, skip
from tensor_compile import target as targets
from tensor_compile.compile import assemble, budget, by_layer, report
from tensor_compile.compile.numbers import number_of
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress
from tensor_compile.emit.memory import memory
from tensor_compile.loops.loop_ir import CheckKernel
from tensor_compile.loops.program_ir import Tiles, regions

BANDS = """#include <tensor_compile/model.h>
TC_MODEL(bands)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 250, 256), w = tc_input(g, "w", TC_F32, 256, 1024);
    tc_output(g, "y", tc_matmul(x, w));
    tc_output(g, "z", tc_matmul(tc_input(g, "many", TC_F32, 250, 16), tc_input(g, "v", TC_F32, 16, 1024)));
}
"""
ALIKE = """#include <tensor_compile/model.h>
TC_MODEL(alike)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 64, 64);
    for (int i = 0; i < 3; ++i)
        x = tc_exp(tc_add(x, tc_expand(tc_reshape(tc_sum(x, 0), 1, 64), 64, 64)));
    tc_output(g, "y", x);
}
"""
NESTS = """#include <tensor_compile/model.h>
TC_MODEL(nests)
{
    tc_weights(g, "nests.safetensors");
    tc_tensor x = tc_conv2d(tc_input(g, "image", TC_F32, 1, 32, 20, 20), tc_weight(g, "mixed"));
    x = tc_conv2d(tc_relu(x), tc_weight(g, "groups"), .padding = {1, 1}, .groups = 8);
    x = tc_conv2d(tc_relu(x), tc_weight(g, "depthwise"), .padding = {1, 1}, .groups = 32);
    tc_output(g, "y", tc_conv2d(tc_relu(x), tc_weight(g, "mixed")));
    tc_tensor plain = tc_input(g, "plain", TC_F32, 1, 3, 41, 41);
    tc_output(g, "lines", tc_max_pool2d(plain, .kernel = {3, 3}, .stride = {2, 2}));
    tc_output(g, "rows", tc_softmax(tc_input(g, "many", TC_F32, 40, 64), -1));
    tc_output(g, "turned", tc_permute(tc_input(g, "square", TC_F32, 64, 64), 1, 0));
    tc_output(g, "alone", tc_softmax(tc_input(g, "few", TC_F32, 2, 64), -1));
    tc_tensor features = tc_input(g, "features", TC_F32, 1, 5, 9, 20);
    tc_output(g, "colours", tc_conv2d(features, tc_weight(g, "last"), .padding = {1, 1}));
}
"""
NEST_WEIGHTS = {"mixed": (32, 32, 1, 1), "groups": (32, 4, 3, 3), "depthwise": (32, 1, 3, 3), "last": (3, 5, 3, 3)}
MEMORY = """#include <tensor_compile/model.h>
TC_MODEL(memory)
{
    tc_tensor x = tc_input(g, "pairs", TC_F32, 8, 100, 2);
    tc_output(g, "parted", tc_mul(tc_select(x, -1, 0), tc_select(x, -1, 1)));
    tc_tensor y = tc_input(g, "real", TC_F32, 8, 100);
    tc_output(g, "joined", tc_stack(-1, tc_neg(y), tc_abs(y)));
    tc_tensor z = tc_input(g, "large", TC_F32, 2048, 1024);
    tc_output(g, "alone", tc_add(z, tc_input(g, "other", TC_F32, 2048, 1024)));
    z = tc_input(g, "larger", TC_F32, 4096, 1024);
    tc_output(g, "always", tc_add(z, tc_input(g, "another", TC_F32, 4096, 1024)));
    tc_output(g, "sometimes", tc_sub(z, tc_unsqueeze(tc_amax(z, 1), 1)));
    tc_output(g, "place", tc_argmax(y, -1));
}
"""
CHAINS = """#include <tensor_compile/model.h>
TC_MODEL(chains)
{
    tc_weights(g, "chains.safetensors");
    for (int i = 0; i < 2; ++i) {
        tc_tensor x = tc_input(g, i ? "many" : "four", TC_F32, i ? 32 : 4, 24, 56, 56);
        x = tc_clamp(tc_conv2d(x, tc_weight(g, "a")), 0, 6);
        x = tc_clamp(tc_conv2d(x, tc_weight(g, "b"), .padding = {2, 2}, .groups = 144), 0, 6);
        tc_output(g, i ? "y" : "z", tc_conv2d(x, tc_weight(g, "c")));
    }
}
"""
CHAIN_WEIGHTS = {"a": (144, 24, 1, 1), "b": (144, 1, 5, 5), "c": (24, 144, 1, 1)}
ROW = re.compile(r" {4}(\d+)([| ])\s+(\S.*?)\s+(\d+)\s+(\d+)\s+(\d+)(?:/\d+)*(?:  .*:\d+)?$")
CODES = {"f32": "f", "i32": "i", "i64": "q", "bool": "?"}


def rows(text: str) -> dict[tuple[str, str], list[tuple[str, int, int]]]:
    """(kernel, read, written) of each variant of each function, as printed."""
    found: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    function = variant = ""
    for line in text.splitlines():
        if line.startswith("function "):
            function = line.removeprefix("function ")
        elif line.startswith("  variant "):
            variant = line.split()[1].rstrip(":")
            found[function, variant] = []
        elif match := ROW.match(line):
            found[function, variant].append((match[3], int(match[4]), int(match[5])))
    return found


def part(text: str, function: str, variant: str) -> list[str]:
    """The lines of a variant."""
    found = text.partition(f"\nfunction {function}\n")[2].partition("\nfunction ")[0]
    return found.partition(f"\n  variant {variant}")[2].partition("\n  variant ")[0].splitlines()


def elements(made: assemble.Made, program, dims: dict, draw: random.Random) -> dict[str, list]:
    """Inputs and state at random, packed constants as they are in the object."""
    blob, values = made.weights.read_bytes(), {}
    for b in program.buffers.values():
        count = b.elements.evaluate(dims)
        if b.kind == "packed":
            at = made.compiled.plan.packed[b.name]
            values[b.name] = list(struct.unpack_from(f"<{count}{CODES[b.dtype]}", blob, at))
        elif b.kind in ("input", "state"):
            values[b.name] = [rounded("f32", draw.uniform(-1, 1)) if b.dtype == "f32" else draw.random() < 0.5
                              if b.dtype == "bool" else draw.randrange(40) for _ in range(count)]
    return values


def held(program) -> list[int]:
    """Bytes of the arena that belong to a tensor while each kernel runs, found byte range by byte range."""
    kernels = [step.kernel for step in program.steps]
    uses = {b.name: [i for i, k in enumerate(kernels) if any(p.name == b.name for p in k.params)]
            for b in program.buffers.values() if b.kind == "temp"}
    found = []
    for i in range(len(kernels)):
        lines: set[int] = set()
        for name, at in uses.items():
            if at and at[0] <= i <= at[-1]:
                b, first = program.buffers[name], program.arena.offset[name] // 64
                size = b.elements.value * {"f32": 4, "i32": 4, "i64": 8, "bool": 1}[b.dtype]
                lines.update(range(first, first + -(-size // 64)))
        found.append(64 * len(lines))
    return found


def no_cache(folder: Path) -> str:
    """A target file of this machine, but with hardly a cache and a team of one: what can be is a region of tiles."""
    path = folder / "tiny.toml"
    text = targets.find(os.uname().machine).read_text(encoding="utf-8")
    for name, size in (("l2", 64), ("threads", 1)):
        text = re.sub(rf"^{name} = \d+", f"{name} = {size}", text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")
    return str(path)


def bills(made: assemble.Made, name: str) -> None:
    """What a build says that exceeds its budgets."""
    for function in made.compiled.plan.functions:
        for variant in function.variants:
            program = variant.program
            if program.arena.size is None:
                continue
            layers = by_layer.layers(program, made.target)
            room = [sum(-(-p.elements.value * 4 // 64) * 64 * made.target.threads for p in step.kernel.params
                        if p.kind == "scratch") for step in program.steps]
            equal([layer.bytes for layer in layers], [a + b for a, b in zip(held(program), room, strict=True)],
                  f"{name}: {variant.name}: what the arena holds layer by layer")
    try:
        budget.check(budget.bill(made), made, "m.c", 1, None, 1, None)
        ok(False, f"{name}: budgets of a byte")
    except budget.Over as error:
        largest, layers = by_layer.largest_arena(made)
        said = str(error)
        missing = [x.what for x in layers
                   if not re.search(rf"^    {re.escape(x.what)} +{x.bytes}$", said, re.MULTILINE)]
        ok(f"layers of {largest} that need more while they run: {len(layers)} of {len(layers)}" in said and not missing,
           f"{name}: the bill of the arena has every layer") or note(said)
        ok(re.search(rf"^    tck_\w+ +\d+  .*{name}.c:\d+", said, re.MULTILINE),
           f"{name}: and that of code says whose a kernel is") or note(said)


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    for make, sizes, special, target in (
            (models.digits, {"batch": 2}, (("batch", (1,)),), ""), (models.mlp, {"batch": 3}, (), ""),
            (models.encoder, {"batch": 2, "length": 5}, (), no_cache(folder)),
            (models.encoder, {"batch": 2, "length": 5}, (), ""), (models.decoder, {"length": 4, "past": 3}, (), "")):
        model = make(folder)
        options = Options(str(model), model.name, str(folder / "m.o"), str(folder / "m.h"), models.cache(folder),
                          target_file=target, isas=("x86_64",) if models.X86 else (), specialize=special, jobs=2,
                          with_reference=True)
        with Progress() as progress:
            made = assemble.run(options, progress)
        text = report.text(made, model.name, sizes)
        printed, symbols = rows(text), assemble.entry_symbols(made.compiled.plan)
        for function in made.compiled.plan.functions:
            for variant in function.built:
                name = f"{model.stem}: {function.name} {variant.name}{', in tiles' if target else ''}"
                dims = {d.sym: variant.when.get(d.sym.name, sizes[d.sym.name]) for d in function.dims}
                program = variant.program
                counts = programs.run(program, dims, elements(made, program, dims, random.Random(1)))
                got = printed[symbols[function.name], variant.name]
                equal([label for label, _, _ in got], [step.kernel.label for step in program.kernel_steps],
                      f"{name}: kernels")
                tiled = any(isinstance(r, Tiles) for r in regions(program.steps))
                equal(tiled, bool(target) and variant.name == "generic", f"{name}: whether it has regions")
                equal([w for _, _, w in got], [w for _, w in counts], f"{name}: bytes written")
                # a word may be looked up twice, which is counted twice
                exact = [all(not b.shape or b.dtype == "f32" for b in step.kernel.params if b.kind == "input")
                         or isinstance(step.kernel, CheckKernel) for step in program.kernel_steps]
                if not ok(all(r == c if e else r >= c for (_, r, _), (c, _), e in zip(got, counts, exact, strict=True)),
                          f"{name}: bytes read"):
                    note([(label, r, c) for (label, r, _), (c, _) in zip(got, counts, strict=True) if r != c])
                said = [line for line in part(text, symbols[function.name], variant.name) if "fused: " in line]
                equal(len(said), len(set(said)), f"{name}: each decision of fusion is one line") or note(said)
                if model.stem == "encoder":
                    equal([any(re.match(what, line.strip()) for line in said) for what in (
                        r"fused: scaled_dot_product_attention\+softmax\S* runs in tiles",
                        "not fused: softmax into scaled_dot_product_attention: a reduction is no epilogue")],
                        [tiled, not tiled and variant.name != "reference"], f"{name}: attention runs in tiles or apart")
                total = sum(r + w for _, r, w in got)
                ok(re.search(rf"variant {variant.name}.*: {len(got)} kernels?, {total} bytes moved", text),
                   f"{name}: {len(got)} kernels, {total} bytes")
                where = memory(program)
                for buffer, (kind, at) in where.temp.items():
                    b = program.buffers[buffer]
                    shape = ",".join(map(str, b.shape))
                    line = f"{buffer}: {b.dtype}[{shape}] {'at' if kind == 'offset' else 'in slot'} {at}, "
                    if line not in text:
                        ok(False, f"{name}: {line}")
        if special:
            bills(made, model.stem)
        bill = budget.bill(made)
        ok(f"sizes: code {bill.code} bytes, weights {bill.weights} bytes, arena {bill.arena} bytes, stack {bill.stack} "
           "bytes" in text and bill.stack, f"{model.stem}: sizes, {bill.stack} bytes of stack among them")
        used = sum(made.objects[s].code for s in made.sources.by_symbol) + made.driver.code
        equal(bill.code, used, f"{model.stem}: code of every kernel once, and of the driver")
    equal([number_of(n, "iteration") for n in range(3)], ["0 iterations", "1 iteration", "2 iterations"],
          "numbers and their nouns")
    ok("fused: softmax joins softmax" in text and "not fused: " in text, "fusions, and refusals with their reasons")
    ok("fused: linear runs beside linear" in text and "fused: linear and linear are sums of one kernel" in text,
       "products of one operand in one kernel: queries, keys and values, gate and up")
    result = models.tool(folder, "explain", "digits.c", *(("--isa", "x86_64") if models.X86 else ()), "--at", "batch=7",
                         "--specialize", "batch=1")
    ok(result.returncode == 0 and "bytes moved at batch=7" in result.stdout and
       re.search(r"\n      at batch=7: (\d+) bytes of tensors \(at most \1 live at once\)", result.stdout)
       and "variant batch1 (batch == 1)" in result.stdout and "variant generic (all other sizes)" in result.stdout,
       "explain --at, and what each variant serves")
    (folder / "bands.c").write_text(BANDS, encoding="utf-8")
    bands = ("explain", "bands.c", "--isa", "avx2,avx512", "--target-file", "x86_64")
    result = models.tool(folder, *bands)
    if not models.X86:
        skip("whose teams share which kernels in bands of rows", "not a target of this machine")
    else:
        equal([line.strip() for line in result.stdout.splitlines() if " split: " in line],
              ["split: 0 matmul: 16 bands of rows in large teams (avx2)",
               "split: 1 matmul: 16 bands of rows in small teams (avx2, avx512)"],
              "whose teams share which kernels in bands of rows") or note(result.stderr)
        said = models.tool(folder, *bands, "--summary").stdout
        ok("\n  shared by teams in bands of rows: 2 of 2 contractions (explain: split)\n" in said,
           "and how many, in a summary") or note(said)
    (folder / "nests.c").write_text(NESTS, encoding="utf-8")
    models.safetensors(folder / "nests.safetensors", models.seeded(NEST_WEIGHTS, 4))
    if not models.X86:
        skip("how nests run", "not a target of this machine")
    else:
        nests = ("explain", "nests.c", "--isa", "avx2,avx512", "--target-file", "x86_64")
        result = models.tool(folder, *nests)
        equal([line.strip() for line in result.stdout.splitlines() if " nest: " in line],
              ["nest: 1 conv2d_relu: " + "; ".join(f"lanes are channels of 4 groups, {n} positions side by side ({isa})"
                                                   for n, isa in ((4, "avx2"), (7, "avx512"))),
               "nest: 2 conv2d_relu: " + "; ".join(f"lanes are channels, {n} positions side by side ({isa})"
                                                   for n, isa in ((2, "avx2"), (7, "avx512"))),
               "nest: 4 max_pool2d: lanes are positions along a line of the image, 2 lines side by side",
               "nest: 5 softmax: 2 rows side by side (avx2); 4 rows side by side (avx512)",
               "nest: 7 conv2d: " + "; ".join(f"lanes are positions along a line of the image, {n} vectors of results "
                                              f"together ({isa})" for n, isa in ((3, "avx2"), (6, "avx512"))),
               "nest: 8 copy of turned: turned in registers, by whole lines of the caches"],
              "how nests run, for which instruction sets") or note(result.stdout + result.stderr)
        models.tool(folder, *nests, "--html", "nests.html")
        ok("<h3>Nests</h3>" in (folder / "nests.html").read_text(encoding="utf-8"), "so says the page")
        (folder / "memory.c").write_text(MEMORY, encoding="utf-8")
        result = models.tool(folder, "explain", "memory.c", "--isa", "avx512", "--target-file", "x86_64")
        equal([line.strip().removeprefix("nest: ") for line in result.stdout.splitlines() if " nest: " in line],
              ["0 mul: elements that lie in turn parted in registers",
               "1 neg_abs: elements that lie in turn joined in registers",
               "2 add: stores past the caches with one thread", "3 add: stores past the caches",
               "4 reduce_max_sub: 4 rows side by side, stores past the caches where the second ones of all threads do "
               "not hold its bytes"], "how nests move elements in turn, and where they store past the caches") \
            or note(result.stdout + result.stderr)
        ok(re.search(r"^ +5[ |] +argmax ", result.stdout, re.MULTILINE), "a kernel says what it looks for")
        (folder / "chains.c").write_text(CHAINS, encoding="utf-8")
        models.safetensors(folder / "chains.safetensors", models.seeded(CHAIN_WEIGHTS, 5))
        chains = ("explain", "chains.c", "--isa", "avx512", "--target-file", "x86_64")
        said = [models.tool(folder, *chains, *how).stdout for how in ((), ("--summary",))]
        ok(re.search(r"not fused: conv2d\S* in stripes: that would save .*; one thread gains, so `tune` may choose "
                     r"it\n", said[0]), "what only tune may run in stripes") or note(said[0])
        ok("\n  in stripes: 1 chain of 3 kernels; 1 chain that only `tune` may choose\n" in said[1],
           "and how much, in a summary") or note(said[1])
    models.decoder(folder)
    said = models.tool(folder, "explain", "decoder.c", *(("--isa", "avx2") if models.X86 else ()), "--summary").stdout
    for entry, keys in (
            ("prefill", ["second operands that are no constants: 2 of 4 are read where they lie, 2 are packed into "
                         "panels in every call:",
                         "  scaled_dot_product_attention: 2*length rows meet the columns, not at most 16 (2 times)"]),
            ("decode", ["second operands that are no constants: 4 of 4 are read where they lie (2 of them term by "
                        "term)"])):
        lines = said.partition(f"decoder_model_{entry} at ")[2].partition("\n\n")[0].splitlines()
        equal(len(lines), len(set(lines)), f"{entry} in a summary: no two lines are equal") or note(said)
        equal([line[2:] for line in lines if "second operands" in line or "rows meet" in line], keys,
              f"{entry}: which columns are read where they lie, and why others are not")
    ok(re.search(r"^ +128 bytes  f32\[length,32\] of embedding_add_rms_norm_rsqrt \(2 times\)$", said, re.MULTILINE),
       "tensors that are alike are one line") or note(said)
    ok("decoder_model_prefill at length=1 of 1 to 64 (variant generic; --at DIM=SIZE,… shows others): " in said,
       "sizes stand with the range of their dim") or note(said)
    said_of_8 = models.tool(folder, "explain", "decoder.c", *(("--isa", "avx2") if models.X86 else ()), "--summary",
                            "--specialize", "length=8").stdout
    ok("decoder_model_prefill at length=8 (variant length8): " in said_of_8 and
       re.search(r"^ +1.0 KiB  f32\[8,32\] of embedding", said_of_8, re.MULTILINE), "a specialized one with its own"
       ) or note(said_of_8)
    ok("each needs a kernel of its own (3 times)" in said, "and so are refusals") or note(said)
    ok(re.search(r"^ +\d+\.\d %  layer\.\*: linear_sigmoid_silu_mul  \(decoder\.c:12\), 2 kernels$", said, re.MULTILINE)
       and re.search(r"^ +320 bytes  f32\[length,80\] of layer\.\*: linear_sigmoid_silu_mul \(2 times\)$", said,
                     re.MULTILINE), "so are those of layers that differ in their number") or note(said)
    (folder / "alike.c").write_text(ALIKE, encoding="utf-8")
    said = models.tool(folder, "explain", "alike.c", *(("--isa", "avx2") if models.X86 else ()), "--summary").stdout
    equal(re.findall(r"^ +\d.* %  (.*)$", said, re.MULTILINE), ["add_exp  (alike.c:6), 3 kernels",
                                                                "reduce_sum  (alike.c:6), 3 kernels"],
          "kernels of one name and place are one line, with their share together") or note(said)
    result = models.tool(folder, "explain", "digits.c", "--at", "size=7")
    ok(result.returncode == 2 and "the model has no dim 'size'" in result.stderr, "a dim that is not there")
done()
