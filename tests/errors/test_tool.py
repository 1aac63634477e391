# SPDX-License-Identifier: Apache-2.0
"""What the tool says of every mistake: one clear message, the right exit code, no half-written output, no traceback."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import forked
from tap import done, equal, note, ok, skip
from tensor_compile.compile.capture_run import as_given

ROOT = Path(__file__).resolve().parents[2]
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(tiny)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 4);
    tc_weights(g, "tiny.safetensors");
    tc_output(g, "y", tc_relu(tc_linear(x, tc_weight(g, "w"), tc_weight(g, "b"))));
}
"""


def safetensors(tensors: dict[str, tuple[list[int], list[float]]]) -> bytes:
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


WEIGHTS = safetensors({"w": ([3, 4], [0.25 * i for i in range(12)]), "b": ([3], [1.0, -2.0, 3.0])})

with tempfile.TemporaryDirectory() as place:
    root = Path(place)
    cache = Path(os.environ.get("TC_TESTS_CACHE", root / "cache"))
    count = 0

    def project(model: str = MODEL, weights: bytes | None = WEIGHTS) -> Path:
        global count
        count += 1
        folder = root / str(count)
        folder.mkdir()
        (folder / "model.c").write_text(model, encoding="utf-8")
        if weights is not None:
            (folder / "tiny.safetensors").write_bytes(weights)
        return folder

    def run(folder: Path, *options: str, command: str = "build") -> subprocess.CompletedProcess:
        given = [command, "model.c", "--cache", str(cache), "--isa", "x86_64", *options]
        if os.uname().machine != "x86_64":
            given = [word for word in given if word not in ("--isa", "x86_64")]
        return forked.tool(*given, cwd=folder)

    def fails(name: str, result: subprocess.CompletedProcess, code: int, *messages: str) -> None:
        good = ok(result.returncode == code and all(m in result.stderr for m in messages)
                  and "Traceback" not in result.stderr, name)
        if not good:
            note(f"exit code {result.returncode}, wanted {code} and {messages}")
            note(result.stdout + result.stderr)

    def said_quietly(result: subprocess.CompletedProcess) -> tuple[int, str]:
        return result.returncode, result.stdout + result.stderr

    folder = project()
    first = run(folder, "-o", "out")
    equal((first.returncode, first.stdout, first.stderr), (0, "", ""), "a build that succeeds is silent")
    equal(sorted(p.name for p in (folder / "out").iterdir()), ["model.h", "model.o"], "and leaves object and header")
    before = {p.name: p.read_bytes() for p in (folder / "out").iterdir()}

    fails("an unknown option", run(folder, "--frobnicate"), 2, "unrecognized arguments: --frobnicate",
          "hint: see tensor-compile build --help")
    fails("a misspelt option", run(folder, "--specialise", "batch=1"), 2, "--specialise", "did you mean --specialize?")
    fails("an unknown sub-command", subprocess.run([*TOOL, "frob"], capture_output=True, text=True), 2, "frob")
    fails("a misspelt sub-command", subprocess.run([*TOOL, "biuld"], capture_output=True, text=True), 2,
          "invalid choice: 'biuld'", "hint: did you mean build? see tensor-compile --help")
    fails("an option of another sub-command", run(folder, "--from", "x"), 2, "unrecognized arguments: --from x",
          "hint: `tensor-compile profile` has --from; see tensor-compile build --help")
    fails("a level of optimization for a GPU", run(folder, "--optimize", "size", "--target", "cuda"), 2,
          "--optimize does not go with --target cuda")
    fails("stripes on a GPU", run(folder, "--memory", "small", "--target", "cuda"), 2,
          "--memory small does not go with --target cuda")
    fails("other sums on a GPU", run(folder, "--numerics", "relaxed", "--target", "cuda"), 2,
          "--numerics relaxed does not go with --target cuda")
    fails("no model", subprocess.run([*TOOL, "build"], capture_output=True, text=True), 2, "MODEL.c")
    fails("a model that is not there", subprocess.run([*TOOL, "build", "no.c", "--cache", str(cache)],
                                                      capture_output=True, text=True), 1, "no.c: error: no such file")
    fails("--specialize without sizes", run(folder, "--specialize", "batch:1"), 2, "not DIM=SIZE,SIZE…: 'batch:1'")
    fails("--specialize of an unknown dim", run(folder, "--specialize", "seq=1"), 2,
          "--specialize: the model has no dim 'seq'",
          "its dims: batch")
    fails("--specialize of a misspelt dim", run(folder, "--specialize", "bach=1"), 2,
          "did you mean batch? its dims: batch")
    fails("--specialize outside the range", run(folder, "--specialize", "batch=9"), 2,
          "--specialize: batch cannot be 9",
          "1 to 8")
    fails("--specialize of two dims in one", run(folder, "--specialize", "batch=1,2,seq=1"), 2,
          "--specialize: the model has no dim 'seq'")
    fails("a comma without a size", run(folder, "--specialize", "batch=1,,seq=1"), 2, "not DIM=SIZE,SIZE…: 'batch=1,'")
    fails("--specialize twice", run(folder, "--specialize", "batch=1", "--specialize", "batch=2"), 2,
          "--specialize names batch more than once")
    fails("an unknown instruction set", run(folder, "--isa", "sse9"), 2, "unknown instruction set 'sse9'")
    fails("a misspelt target", run(folder, "--target-file", "x86-64"), 2, "hint: did you mean x86_64? known: ")
    fails("an unknown target", run(folder, "--target-file", "z80"), 2, "unknown target 'z80'", "x86_64")
    fails("a compiler that is not there", run(folder, "--cc", "no-such-cc"), 1, "not found: no-such-cc", "--cc")
    fails("a compiler that is not there, by a relative path", run(folder, "--cc", "./no-such-cc"), 1,
          f"not found: {folder}/no-such-cc", "--cc")
    (root / "cc").write_text('#!/bin/sh\nexec cc "$@"\n')
    (root / "cc").chmod(0o755)
    for variable in ("CC", "CC_FOR_BUILD"):  # the model lies elsewhere, and its program is compiled in its folder
        result = subprocess.run([*TOOL, "build", str(folder / "model.c"), "--cache", str(cache), "-o", variable],
                                cwd=root, capture_output=True, text=True, env=dict(os.environ, **{variable: "./cc"}))
        ok(result.returncode == 0, f"{variable} as a relative path is seen from the folder of the command")
    fails("an unknown pass", run(folder, "--dump-after", "magic"), 2, "--dump-after: no pass is called 'magic'",
          "simplify")
    fails("a misspelt pass", run(folder, "--dump-after", "simplyfi"), 2, "did you mean simplify? passes, in order: ")
    fails("a dim of check without a size", run(folder, "--dims", "batch", command="check"), 2,
          "not DIM=SIZE,…: 'batch'")
    keyword = ROOT / "examples" / "keyword-spotting" / "kws.tflite"
    board = ("check", str(keyword), "--target-file", "cortex-m4f", "--cache", str(cache))
    fails("check for a board with this machine's compiler", subprocess.run([*TOOL, *board, "--cc", "cc"],
                                                                          capture_output=True, text=True), 1,
          "the target cortex-m4f is arm, but cc compiles for ", "hint: name the target's compiler with --cc")
    if shutil.which("arm-none-eabi-gcc"):
        arm = "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
        fails("check for a board", subprocess.run([*TOOL, *board, "--cc", arm], capture_output=True, text=True), 1,
              f"{keyword}: error: a call from here needs a target with an operating system: cortex-m4f has none",
              "hint: leave out --target-file and --cc")
    else:
        skip("check for a board", "no arm-none-eabi-gcc")
    fails("tune of a folder without builds", subprocess.run([*TOOL, "tune", "-C", str(root)], capture_output=True,
                                                            text=True), 1, "no model was built here",
          "hint: build first, then tune: tensor-compile tune -C DIR; what was built with --cache DIR is found in that DIR")
    elsewhere = root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "host").symlink_to(cache / "host")   # no program is compiled again
    made = run(folder, "-o", "apart", "--cache", str(elsewhere))
    fails("tune of outputs whose record is elsewhere",
          subprocess.run([*TOOL, "tune", "-C", str(folder / "apart")], capture_output=True, text=True), 1,
          "no model was built here", "what was built with --cache DIR is found in that DIR")
    found = subprocess.run([*TOOL, "tune", "-C", str(elsewhere), "--prune"], capture_output=True, text=True)
    equal((made.returncode, found.returncode, found.stdout.endswith("0 entries taken out\n")), (0, 0, True),
          "it is found there") or note(found.stdout + found.stderr)
    shutil.rmtree(elsewhere)
    fails("tune of no folder", subprocess.run([*TOOL, "tune", "-C", str(root / "none")], capture_output=True,
                                              text=True), 1, "none: error: no such folder")
    fails("a model in the place of the folder", forked.tool("tune", "-C", "model.c", cwd=folder), 1,
          "model.c: error: a file, not the folder of a build", "hint: -C DIR is the folder that the models were built in")
    for words in (("model.c",), ("model.c", "-C", "out"), (".",)):
        fails(f"tune {' '.join(words)}", forked.tool("tune", *words, cwd=folder), 2,
              "unrecognized arguments: ", "hint: models are not named: -C DIR tunes those that were built in DIR, the -o of "
              "`tensor-compile build`; see tensor-compile tune --help")
    fails("inputs without their option", run(folder, "x.npz", command="check"), 2, "unrecognized arguments: x.npz",
          "hint: --inputs x.npz reads tensors; see tensor-compile check --help")
    for name in ("notes.txt", "model.py", "model.pth", "model.lock", "model.h", "Makefile"):
        (folder / name).write_text("some text\n", encoding="utf-8")
        more = "; torch.export.save writes a .pt2 of a PyTorch module" if "p" in Path(name).suffix else ""
        fails(f"{name} in the model's place", forked.tool("build", name, "--cache", str(cache), cwd=folder), 1,
              f"{name}: error: not the source of a model\n  hint: a model is a .c; a .onnx, .pt2 or .tflite is imported{more}\n")
    fails("a module of PyTorch that is to be imported", forked.tool("import", "model.pth", cwd=folder), 1,
          "only .onnx, .pt2 and .tflite files are imported\n  hint: torch.export.save writes a .pt2")
    fails("a model that is to be imported", forked.tool("import", "model.c", cwd=folder), 1,
          "only .onnx, .pt2 and .tflite files are imported\n  hint: a .c is a model: tensor-compile build compiles it")
    fails("a file in the place of --keep", run(folder, "--keep", "notes.txt"), 1, "notes.txt: error: cannot write: ")
    fails("a text in the place of tensors", run(folder, "--inputs", "notes.txt", command="run"), 1,
          "notes.txt: error: not a safetensors file\n  hint: tensors are read from a .safetensors, or from a .npz of NumPy")
    fails("a folder in the lock's place", run(folder, "--lock", "."), 1, "error: cannot read the tuning lock: Is a directory\n")
    (folder / "bytes.lock").write_bytes(b"\xff\xfe")
    fails("a lock that is no text", run(folder, "--lock", "bytes.lock"), 1,
          "error: cannot read the tuning lock: it is no text\n  hint: delete the file")
    weights = root / "weights.safetensors"
    weights.write_bytes(b"")
    fails("a file of weights in the model's place", subprocess.run([*TOOL, "build", str(weights), "--cache", str(cache)],
                                                                   capture_output=True, text=True), 1,
          f"{weights}: error: not the source of a model", "hint: a model is a .c")
    strange = root / "strange-gcc"
    strange.write_text('#!/bin/sh\n[ "$1" = --version ] && echo gcc 12.2.0 || echo s390x-linux-gnu\n')
    strange.chmod(0o755)
    fails("a compiler of an unknown architecture", run(folder, "--cc", str(strange), "--isa", ""), 1,
          "no target is known for s390x-linux-gnu", "--target-file")
    fails("a compiler of another architecture than the target's",
          run(folder, "--cc", str(strange), "--target-file", "aarch64", "--isa", ""), 1,
          f"the target aarch64 is aarch64, but {strange} compiles for s390x-linux-gnu")
    fails("a budget that is no size", run(folder, "--max-code", "lots"), 2,
          "not a size: 'lots' (examples: 65536, 64K, 2M)")
    for wrong in ("-1", "nan", "little"):
        fails(f"a bound that is {wrong}", run(folder, f"--rtol={wrong}", command="check"), 2,
              f"argument --rtol: not a number of at least 0: '{wrong}'")
    fails("one file for object and header", run(folder, "--object", "x", "--header", "x"), 2,
          "--object and --header name the same file")
    fails("a folder in the model's place", subprocess.run([*TOOL, "build", str(folder), "--cache", str(cache)],
                                                          capture_output=True, text=True), 1,
          f"{folder}: error: a folder, not the source of a model", "hint: name the file")
    fails("no jobs", run(folder, "--jobs", "0"), 2, "not a positive number: '0'")
    for option in ("--target", "--tune", "--weights"):
        fails(f"an unknown {option}", run(folder, option, "other"), 2, f"argument {option}: invalid choice: 'other'")
    fails("a misspelt --target", run(folder, "--target", "refrence"), 2, "hint: did you mean reference? ")
    for budget in ("weights", "code", "stack"):
        fails(f"--max-{budget} exceeded", run(folder, "-o", "small", f"--max-{budget}", "16"), 1,
              f"--max-{budget}:", "16 allowed")
    ok(not (folder / "small").exists() or not list((folder / "small").glob("*.o")), "leaves no object")

    fails("an input named as the counters", run(project(MODEL.replace('"x"', '"counters"'))), 1,
          "tiny: input 'counters' and the counters would both be the argument 'counters'")
    two = MODEL + MODEL[MODEL.index("TC_MODEL"):].replace("TC_MODEL(tiny)", "TC_FUNCTION(NAME)")
    for name, message in (
            ("function", "tiny: function 'function' and function 'tiny' would both be tiny_function in C"),
            ("y_bytes", "tiny: function 'y_bytes' and function 'tiny' would both be tiny_y_bytes in C")):
        fails(f"a function named {name}", run(project(two.replace("NAME", name))), 1, message,
              "give the function another name")
    equal(run(project(two.replace("NAME", "dims"))).returncode, 0,
          "a function may be called dims, the driver's table is apart")
    guarded = MODEL.replace("1, 8);", "1, 9000);\n    tc_require_at_least(g, batch, 5000);")
    fails("guards that no small size holds", run(project(guarded), command="check"), 1,
          "no small sizes hold the guards of tiny", "name some with --dims")
    fails("a dim whose tensors outgrow 64 bits", run(project(MODEL.replace("1, 8", "1, INT64_C(1) << 60"))), 1,
          " can grow beyond 64 bits: ", "lower the upper ends")
    squared = "    tc_dim wide = tc_dim_mul(batch, batch);\n    tc_require_at_least(g, tc_dim_mul(wide, wide), 5);\n"
    fails("a guard whose sides outgrow 64 bits",
          run(project(MODEL.replace("1, 8);", "1, INT64_C(1) << 24);\n" + squared))), 1,
          "model.c:6: error: a side of the guard ",
          " can grow beyond 64 bits: batch*batch*batch*batch", "hint: lower the upper ends")
    fails("an input named as the arena", run(project(MODEL.replace('"x"', '"arena"'))), 1,
          "tiny: input 'arena' and the arena would both be the macro TINY_ARENA_BYTES", "give one of them another name")
    fails("an input named as the weights", run(project(MODEL.replace('"x"', '"Weights"')), "--weights", "external"), 1,
          "tiny: input 'Weights' and the weights would both be the macro TINY_WEIGHTS_BYTES")
    kept = MODEL.replace('"x"', '"State"').replace("    tc_weights",
                                                   '    tc_tensor n = tc_state(g, "n", TC_F32, 3);\n    tc_weights')
    kept = kept.replace("    tc_output", "    tc_assign(n, tc_weight(g, \"b\"));\n    tc_output")
    fails("an input named as the state", run(project(kept)), 1,
          "tiny: input 'State' and the state would both be the macro TINY_STATE_BYTES")

    (folder / "file").write_text("")
    fails("an output folder that is a file", run(folder, "-o", "file/out"), 1, f"{folder}/file: error: cannot write: ")
    fails("an unwritable output folder", run(folder, "-o", "/proc/self/out"), 1,
          "/proc/self/out: error: cannot write: ")
    for words, place in ((("-o", "/proc/self/out"), "/proc/self/out"), (("-o", "/proc/self/out/deep"), "/proc/self/out"),
                         (("-o", "file/out"), f"{folder}/file"), (("--cache", "/proc/self/kept"), "/proc/self/kept")):
        fails(f"{' '.join(words)}, where the cache is made first",
              subprocess.run([*TOOL, "build", "model.c", *words], cwd=folder, capture_output=True, text=True), 1,
              f"{place}: error: cannot write: ")
    (folder / "taken" / "model.h").mkdir(parents=True)
    fails("a folder in the header's place", run(folder, "-o", "taken"), 1, "model.h", "cannot write")

    (folder / "commands.json").write_text("{")
    fails("compile commands that are none", run(folder, "--compile-commands", "commands.json"), 1,
          "commands.json: error:",
          "cannot be read as a list of compile commands: ")

    fails("a missing weights file", run(project(weights=None)), 1, "model.c:6: error:", "tiny.safetensors",
          "paths are relative")
    place = project(weights=None)
    (place / "make_weights.c").write_text("")
    said = run(place)
    fails("a missing weights file that a program writes", said, 1, "tiny.safetensors: cannot be opened",
          "hint: make_weights.c beside it writes it; in that folder: cc -O2 make_weights.c -o make_weights -lm && "
          "./make_weights tiny.safetensors\n")
    ok("paths are relative" not in said.stderr, "whose path is right")
    fails("an empty weights file", run(project(weights=b"")), 1, "tiny.safetensors")
    for name, header, message in (("a bad escape", '{"\\q":{}}', "a bad escape at byte 4 of the header"),
                                  ("a name with a line in it", '{"a\n":{}}', "a control character in a string")):
        fails(f"a weights file: {name}", run(project(weights=struct.pack("<Q", len(header)) + header.encode())), 1,
              message)
    of_bytes = '{"w":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}}'
    fails("weights of a dtype that is not read",
          run(project(weights=struct.pack("<Q", len(of_bytes)) + of_bytes.encode()
                                                                     + bytes(1))), 1, '"w" has the dtype F8_E5M2')
    fails("a weight of another shape than declared",
          run(project(MODEL.replace('tc_weight(g, "b")', 'tc_weight_shaped(g, "b", TC_F32, 4)'))), 1,
          '"b" is f32[3] in the file, not f32[4]')
    fails("a weight of more dims than there can be",
          run(project(weights=safetensors({"w": ([1] * 9, [1.0]), "b": ([3], [0.0] * 3)}))), 1,
          '"w" has 9 dims; 8 is the most')
    both = project(MODEL.replace("safetensors\");", "safetensors\");\n    tc_weights(g, \"more.safetensors\");"))
    (both / "more.safetensors").write_bytes(WEIGHTS)
    fails("a weight in two files", run(both), 1,
          'model.c:7: error: tc_weights: "b" is in tiny.safetensors and in more.safetensors')
    shared = MODEL + """TC_FUNCTION(one)
{
    tc_output(g, "z", tc_state(g, "kept", TC_F32, 3));
}
TC_FUNCTION(two)
{
    tc_output(g, "z", tc_state(g, "kept", TC_F32, 4));
}
"""
    fails("a state of two types", run(project(shared)), 1,
          'error: tc_state: state "kept" is f32[4] here and f32[3] at line 11',
          "functions share states by name")
    fails("a weights file cut in its header", run(project(weights=WEIGHTS[:20])), 1, "tiny.safetensors")
    fails("a weights file cut in its data", run(project(weights=WEIGHTS[:-4])), 1, "tiny.safetensors")
    fails("a weights file of noise", run(project(weights=bytes(range(256)))), 1, "tiny.safetensors", "save_file")
    fails("a missing weight", run(project(MODEL.replace('"b"', '"bias"'))), 1, "model.c:7: error:", "bias")
    fails("a wrong shape", run(project(MODEL.replace("batch, 4", "batch, 5"))), 1, "model.c:7: error: tc_linear:")
    above = project(MODEL.replace('"b"', '"bias"'))
    (above / "part.h").write_text("tc_tensor part(tc_tensor x);\n#error no part\n", encoding="utf-8")

    def from_above(folder: Path, command: str = "build", *options: str) -> subprocess.CompletedProcess:
        return forked.tool(command, f"{folder.name}/model.c", "--cache", str(cache), *options, cwd=folder.parent)
    fails("an error names the model as the user does", from_above(above), 1, f"{above.name}/model.c:7: error: tc_weight:")
    (above / "model.c").write_text(MODEL.replace("TC_MODEL", '#include "part.h"\nTC_MODEL', 1), encoding="utf-8")
    fails("so does the compiler, and a header beside it", from_above(above), 1, f"from {above.name}/model.c:",
          f"\n{above.name}/part.h:2:2: error: #error no part")
    infinite = safetensors({"w": ([1, 1, 3, 3], [float("inf")] * 9)})
    for when, weights, line, command, message in (
            ("while weights are packed", infinite, 'tc_conv2d(tc_reshape(x, -1, 1, 2, 2), tc_weight(g, "w"), '
             ".padding = {1, 1})", ("build", "-o", "packed"),
             'error: weight "w" is inf at [0, 0, 0, 0]; a padded convolution needs finite weights'),
            ("in a pass", WEIGHTS, 'tc_extern(g, "own", TC_RESULT(TC_F32, batch, 4), x)',
             ("build", "-o", "passed", "--target", "cuda"), "error: tc_extern: own is a function of your program"),
            ("of the interpreter", WEIGHTS, 'tc_gather(tc_weight(g, "b"), tc_cast(x, TC_I32), 0)',
             ("check", "--inputs", "nine"), "error: gather: index 9 at [0, 0] is outside 0..2")):
        wrong = project(re.sub(r"tc_relu\(.*\)\);", f"{line});", MODEL), weights)
        (root / "nine").write_bytes(safetensors({"x": ([1, 4], [9.0] * 4)}))
        fails(f"so does an error {when}", from_above(wrong, *command), 1, f"{wrong.name}/model.c:7: {message}")
    said = "model.c:3:1: error: a\npart.h:1:1: error: b\nnet.py:7:1: error: c\n"
    (above / "my_model.c").symlink_to("model.c")
    equal(as_given(said, above / "model.c", f"{above}/my_model.c"),
          f"{above}/model.c:3:1: error: a\n{above}/part.h:1:1: error: b\nnet.py:7:1: error: c\n",
          "a link to the model changes the folder alone")
    beside = project()
    equal(as_given(said, above / "model.c", f"{beside}/my_model.onnx"), said,
          "what a model is imported from has other files beside it")
    fails("a model that does not compile", run(project(MODEL.replace("tc_relu(", "tc_rule("))), 1, "tc_rule",
          "the model does not compile (the compiler's messages are above)", "all operations are in", "ops.h")
    for wrong in ("tc_tensor t = x * x;", "tc_dim d = batch + 1;", "if (batch > 3) return;"):
        fails(f"an operator of C: {wrong}", run(project(MODEL.replace("tc_output(", f"{wrong} tc_output(", 1))), 1,
              "invalid operands to binary", "hint: C computes neither tensors nor sizes: tc_add, tc_mul,", "TC_IF")
    fails("a model without its include", run(project(MODEL.replace("#include", "//"))), 1, "the model does not compile",
          "hint: a model starts with #include <tensor_compile/model.h>")
    window = ("#include <tensor_compile/model.h>\nTC_MODEL(window)\n{\n    tc_tensor x = tc_input(g, \"x\", TC_F32, "
              "1, 1, 4, 4);\n"
              "    tc_output(g, \"y\", tc_max_pool2d(x, .kernel = 2, OPTION));\n}\n")
    for compiler in ("cc", "clang") if shutil.which("clang") else ("cc",):   # each has a capture library of its own
        equal(said_quietly(run(project(window.replace("OPTION", ".stride = 1")), "--host-cc", compiler)), (0, ""),
              f"{compiler}: one number for every axis, without a word")
        fails(f"{compiler}: a misspelt option",
              run(project(window.replace("OPTION", ".strid = 1")), "--host-cc", compiler), 1,
              "model.c:5:", "strid", "hint: options of tc_",
              ".x, .kernel, .stride, .padding, .low, .high, .dilation, .divisor")
        fails(f"{compiler}: more values than axes",
              run(project(window.replace("OPTION", ".padding = {0, 0, 0}")), "--host-cc",
                                                        compiler), 1, "model.c:5:",
              "an option has more values than axes (the compiler's messages are above)",
              "one number stands for every axis")
    fails("a misspelt option of a dim", run(project(MODEL.replace("1, 8)", "1, 8, .div = 2)"))), 1, "model.c:4:",
          "hint: options of tc_dynamic: .divisor, .specialize")
    fails("a number in a tensor's place", run(project(MODEL.replace('tc_weight(g, "w")', "1"))), 1,
          "model.c:7:", "the model does not compile")
    never = MODEL.replace("{\n    tc_dim", "{\n    tc_tensor never;\n    tc_dim").replace('tc_weight(g, "w")', "never")
    fails("a variable that was never set", run(project(never)), 1, "model.c:", "never", "uninitialized",
          "the model does not compile")
    fails("a model that crashes",
          run(project(MODEL.replace("{\n    tc_dim", "{\n    *(volatile int *)0 = 1;\n    tc_dim"))),
          1, "model.c: error:", "the model's program crashed while it was recorded (", "SIGSEGV")
    fails("a model that aborts", run(project("#include <stdlib.h>\n" + MODEL.replace("{\n    tc_dim",
          "{\n    abort();\n    tc_dim"))), 1, "(SIGABRT)")
    fails("a model that never ends",
          run(project(MODEL.replace("{\n    tc_dim", "{\n    for (volatile int i = 0;; ++i) {}\n"
          "    tc_dim")), "--capture-timeout", "2"), 1,
          "recording the model did not end within 2 s")
    endless = project(MODEL.replace("{\n    tc_dim", "{\n    for (volatile int i = 0;; ++i) {}\n    tc_dim"))
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([*TOOL, "build", "model.c", "--cache", str(cache), "-o", "out"], cwd=endless,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children = running = ""
        while not running and process.poll() is None:  # until the model's program runs
            time.sleep(0.1)
            children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], capture_output=True,
                                      text=True, check=False).stdout
            running = next((line.split()[0] for line in children.splitlines() if "/capture " in line), "")
        process.send_signal(number)
        said = process.communicate()[1]
        ok(process.returncode == 130 and said == "tensor-compile: interrupted\n"
           and not Path(f"/proc/{running}").exists() and
           not (endless / "out").exists(),
           f"{number.name} while the model never ends: its program is stopped, nothing is left"
           ) or note(f"{process.returncode} {children}\n{said}")
    flood = run(project("#include <stdio.h>\n" + MODEL.replace("{\n    tc_dim",
                "{\n    for (;;) fputs(\"flood flood flood flood flood flood flood flood flood flood\\n\", stderr);\n "
                "   tc_dim")),
                "--capture-timeout", "300")
    fails("a model that prints for ever", flood, 1, "recording the model wrote more than 256 MiB of graph or messages")
    ok(len(flood.stderr) < 2 << 20, "of which a part is shown")
    for code in (0, 1, 2, 3, 7):
        for words in ("", 'fputs("last words\\n", stderr); '):
            fails(f"a model that leaves with {code} {words}",
                  run(project("#include <stdio.h>\n#include <stdlib.h>\n" + MODEL.replace("{\n    tc_dim",
                                                                                          "{\n    " + words
                                                                                       + f"exit({code});\n    tc_dim"))), 1,
                  f"the model's program ended with exit code {code} instead of recording a graph",
                  "hint: a model must not call exit()")
    fails("a main in the model", run(project(MODEL + "int main(void)\n{\n    return 0;\n}\n")), 1,
          "multiple definition",
          "main", "the model does not compile")
    fails("a model that needs all memory", run(project("#include <stdlib.h>\n" + MODEL.replace("{\n    tc_dim",
          "{\n    for (size_t n = (size_t)1 << 40; n > 4096; n /= 2) while (malloc(n)) {}\n    for (;;) tc_name(g, "
          "\"%9999d\", 1);\n    tc_dim"))), 1, "recording the model needs more than ",
          "GiB of memory")
    fails("a file without a model", run(project("int unused;\n")), 1, "model.c:1: error: no TC_MODEL")
    (folder / "empty.c").write_text("int unused;\n")
    fails("is named",
          subprocess.run([*TOOL, "build", "empty.c", "--cache", str(cache)], cwd=folder, capture_output=True,
                                     text=True), 1, "empty.c:1: error: no TC_MODEL")

    fails("check at a size outside the range", run(folder, "--dims", "batch=9", command="check"), 2,
          "model.c: error: --dims: batch = 9 is not in 1..8", "the range of batch is declared at model.c:")
    fails("explain at a size outside the range", run(folder, "--at", "batch=9", command="explain"), 2,
          "--at: batch cannot be 9", "its range is 1 to 8; the range of batch is declared at model.c:")
    fails("check of a dim that is not there", run(folder, "--dims", "seq=9", command="check"), 2, "no dim 'seq'",
          "its dims: batch")
    (folder / "inputs").write_bytes(safetensors({"z": ([1], [0.0])}))
    fails("check with a wrapper that is not there", run(folder, "--exe-wrapper", "no-such-emulator", command="check"),
          1,
          "no-such-emulator: error: the target's program cannot be run here: ", "hint: --exe-wrapper")
    fails("check without an input", run(folder, "--inputs", "inputs", command="check"), 1,
          'inputs: error: no tensor "x" for the input x', "hint: the file has z; --map x=NAME takes another")
    (folder / "inputs").write_bytes(safetensors({"x": ([3, 4], [0.0] * 12)}))
    for command in ("check", "run"):
        fails(f"{command} of a tensor that the file has not", run(folder, "--inputs", "inputs", "--map", "x=xx",
                                                                  command=command), 1,
              'inputs: error: --map x=xx: no tensor "xx"', "hint: did you mean x? the file has x")
        fails(f"{command} with a name for no tensor of the model", run(folder, "--inputs", "inputs", "--map", "xx=x",
                                                                       command=command), 2,
              "error: --map xx=x: the model has no 'xx' for which a file is read", "hint: did you mean x? it has x")
    result = run(folder, "--inputs", "inputs", command="check")
    ok(result.returncode == 0 and "tiny batch=3" in result.stdout, "check takes sizes from its inputs") \
        or note(result.stdout + result.stderr)
    (folder / "inputs").write_bytes(safetensors({"x": ([3, 5], [0.0] * 15)}))
    fails("check with inputs of other sizes", run(folder, "--inputs", "inputs", command="check"), 1, "f32[3,5]")

    two = project(MODEL + """TC_FUNCTION(half)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8), seq = tc_dynamic(g, "seq", 1, 8);
    tc_output(g, "z", tc_add(tc_input(g, "x", TC_F32, batch, 4), tc_input(g, "w", TC_F32, seq, 1, 1)));
}
""")
    (two / "inputs").write_bytes(safetensors({"x": ([1, 4], [1.0] * 4), "w": ([2, 1, 1], [1.0, 2.0])}))
    (two / "good").write_bytes(safetensors({"y": ([1, 3], [2.5, 3.5, 12.5]), "z": ([2, 1, 4], [2.0] * 4 + [3.0] * 4)}))
    (two / "bad").write_bytes(safetensors({"y": ([1, 3], [2.5, 4.5, 12.5]), "z": ([2, 1, 4], [2.0] * 4 + [3.0] * 4)}))
    options = ("--inputs", "inputs", "--dims", "batch=1,seq=2")
    result = run(two, *options, "--expect", "good", command="check")
    ok(result.returncode == 0 and "good: y" in result.stdout and "good: z" in result.stdout,
       "functions are checked with the dims and the outputs that each has") or note(result.stdout + result.stderr)
    result = run(two, *options, "--expect", "bad", command="check")
    wrong = [line.split(": ")[2] for line in result.stdout.splitlines() if "FAILED" in line and "WRONG" not in line]
    ok(result.returncode == 1 and set(wrong) == {"y"},
       "the output that differs is named") or note(result.stdout + result.stderr)

    equal({p.name: p.read_bytes() for p in (folder / "out").iterdir()}, before, "none of this touched earlier outputs")
    left = [p for p in root.rglob(".*") if p.is_file() and p != cache / ".gitignore"]
    equal(left, [], "and nothing lies beside them")

    # a bug of ours: exit code 3 and a dump
    broken = dict(os.environ, PYTHONPATH=str(root))
    (root / "sitecustomize.py").write_text(
        "import sys\n"
        "class Break:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tensor_compile.pipeline':\n"
        "            raise RuntimeError('made up')\n"
        "sys.meta_path.insert(0, Break())\n", encoding="utf-8")
    result = subprocess.run([*TOOL, "build", "model.c", "--cache", str(cache), "-o", "out"], cwd=project(), env=broken,
                            capture_output=True, text=True, check=False)
    fails("a bug of ours", result, 3, "internal error", "bug of tensor-compile")
    dump = next((w for w in result.stderr.split() if w.endswith(".dump.txt")), "")
    if ok(dump and Path(dump).exists() and "made up" in Path(dump).read_text(), "leaves a dump with the cause"):
        Path(dump).unlink()

    for command in ("build", "check", "explain", "pack"):
        shown = subprocess.run([*TOOL, command, "--help"], capture_output=True, text=True)
        ok(shown.returncode == 0 and re.search("Examples?:", shown.stdout) and "--specialize" in shown.stdout,
           f"{command} --help has an example and the options")
done()
