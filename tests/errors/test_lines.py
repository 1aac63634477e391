# SPDX-License-Identifier: Apache-2.0
"""#line in a model.c: messages, explain and the names of kernels tell the other source; paths and order stay."""
import json
import os
import struct
import subprocess
import tempfile
from pathlib import Path

import forked
from tap import done, equal, ok

CACHE = os.environ["TC_TESTS_CACHE"]
HEADER = json.dumps({"w": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}).encode()
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + struct.pack("<12f", *range(12))
MODEL = """#include <tensor_compile/model.h>

#line 40 "nets/tiny.py"
TC_MODEL(tiny)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 4);
#line 7 "nets/tiny.py"
    tc_weights(g, "tiny.safetensors");
#line 12 "nets/tiny.py"
    x = tc_linear(x, tc_weight(g, "w"), NULL);
#line 13 "MatMul \\"a b\\""
    tc_output(g, "y", tc_softmax(x, 1));
}

#line 2 "nets/tiny.py"
TC_FUNCTION(second)
{
    tc_output(g, "y", tc_relu(tc_input(g, "x", TC_F32, 4)));
}
"""


def run(folder: Path, command: str, text: str, *words: str) -> subprocess.CompletedProcess:
    """In the model's folder's parent."""
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / "model.c").write_text(text)
    (folder / "sub" / "tiny.safetensors").write_bytes(WEIGHTS)
    return forked.tool(command, "sub/model.c", "--cache", CACHE, "--isa", "x86_64", *words, cwd=folder)


def says(text: str, message: str, name: str) -> None:
    result = run(root, "build", text, "-o", "wrong")
    if not ok(message in result.stderr and result.returncode == 1, name):
        print("# " + result.stderr.replace("\n", "\n# "))


with tempfile.TemporaryDirectory() as place:
    root = Path(place)
    result = run(root, "build", MODEL, "-o", "out", "--depfile", "out.d")
    if not ok(result.returncode == 0, "weights lie beside model.c, wherever #line says that it stands"):
        print("# " + result.stderr.replace("\n", "\n# "))
    header = (root / "out" / "model.h").read_text()
    ok(header.index("tiny(") < header.index("second("), "functions stand in the order of the text")
    ok("tiny.py" not in (root / "out.d").read_text(), "the depfile names what was read, and nothing else")
    content = (root / "out" / "model.o").read_bytes()
    ok(b"(nets/tiny.py:12)" in content and b'(MatMul "a b":13)' in content, "logs and profiles name the source")
    run(root, "build", MODEL, "-o", "again")
    equal((root / "again" / "model.o").read_bytes(), content, "a second build gives the same bytes")
    result = run(root, "explain", MODEL)
    ok("nets/tiny.py:12\n" in result.stdout and 'MatMul "a b":13\n' in result.stdout,
       "explain names the source of a kernel")

    says(MODEL.replace('"w"', '"v"'), 'nets/tiny.py:12: error: tc_weight: no weight "v" in tiny.safetensors',
         "so do errors")
    again = '    tc_input(g, "x", TC_F32, 4);\n#line 13'
    says(MODEL.replace("#line 13", again).replace('40 "nets/tiny.py', '40 "model.py'),
         'a second input "x" (the first is at model.py:43)', "a place in another source is told with its name")
    line = MODEL[:MODEL.index("tc_softmax")].count("\n") + 1
    says(MODEL.replace("tc_softmax(x, 1)", "tc_softmix(x, 1)"), f"model.c:{line}:",
         "what the compiler says leads to the line of model.c")
done()
