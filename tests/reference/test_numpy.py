# SPDX-License-Identifier: Apache-2.0
"""`run` and other commands with NumPy's files, .npy and .npz, and with inputs that are made up. The files' bytes are
written here by the format's description (numpy.lib.format), without NumPy."""
import io
import struct
import tempfile
import zipfile
from pathlib import Path

import models
from tap import done, equal, note, ok

SOURCE = """#include <tensor_compile/model.h>
TC_MODEL(both)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 3), ids = tc_input(g, "ids", TC_I64, n);
    tc_tensor sum = tc_state(g, "sum", TC_F32, 3);
    tc_output(g, "y", tc_mul(x, tc_expand(tc_reshape(tc_cast(ids, TC_F32), n, 1), n, 3)));
    tc_output(g, "less", tc_lt(ids, 2));
    tc_assign(sum, tc_add(sum, tc_sum(x, 0)));
}
"""
SHORT = """#include <tensor_compile/model.h>
TC_MODEL(brief)
{
    tc_output(g, "y", tc_cast(tc_input(g, "x", TC_F32, 2), TC_BF16));
}
"""
HALVES = """#include <tensor_compile/model.h>
TC_MODEL(halves)
{
    tc_dim m = tc_dynamic(g, "m", 1, 16), k = tc_dynamic(g, "k", 1, 16);
    tc_output(g, "c", tc_neg(tc_input(g, "a", TC_F32, tc_dim_floordiv(m, 2))));
    tc_output(g, "d", tc_neg(tc_input(g, "b", TC_F32, tc_dim_add(m, k))));
}
"""
STEPS = """#include <tensor_compile/model.h>
TC_MODEL(steps)
{
    tc_dim h = tc_dynamic(g, "h", 8, 64, .divisor = 8), w = tc_dynamic(g, "w", 1, 64);
    tc_output(g, "y", tc_neg(tc_input(g, "x", TC_F32, h)));
    tc_output(g, "z", tc_neg(tc_input(g, "both", TC_F32, tc_dim_add(h, w))));
}
"""
TWO = """#include <tensor_compile/model.h>
TC_MODEL(two)
{
    (void)g;
}
TC_FUNCTION(first)
{
    tc_tensor s = tc_state(g, "s", TC_F32, 2), x = tc_input(g, "x", TC_F32, 2), z = tc_input(g, "z", TC_F32, 2);
    tc_output(g, "y", tc_add(x, tc_mul(z, 100)));
    tc_assign(s, x);
}
TC_FUNCTION(second)
{
    tc_tensor h = tc_state(g, "h", TC_BF16, 2), x = tc_input(g, "x", TC_F32, 2);
    tc_output(g, "y", tc_cast(h, TC_F32));
    tc_assign(h, tc_cast(x, TC_BF16));
}
"""


def npy(descr: str, shape: tuple[int, ...], data: bytes, fortran: bool = False, version: int = 1) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes((version, 0)) + size + text + b"\n" + data


def npz(arrays: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in arrays.items():
            with archive.open(name, "w", force_zip64=True) as f:   # as np.savez does
                f.write(data)
    return out.getvalue()


def placed(archive: bytes, offset: int, size: int) -> bytes:
    """The archive of one array whose directory has it at `offset`, of `size` bytes."""
    directory, end = archive.rfind(b"PK\1\2"), archive.rfind(b"PK\5\6")
    name = int.from_bytes(archive[directory + 28:directory + 30], "little")
    extra = struct.pack("<2H3Q", 1, 24, size, size, offset)
    head = bytearray(archive[directory:directory + 46 + name])
    head[20:28], head[30:32], head[42:46] = b"\xff" * 8, len(extra).to_bytes(2, "little"), b"\xff" * 4
    entry, tail = bytes(head) + extra, bytearray(archive[end:])
    tail[12:16] = len(entry).to_bytes(4, "little")
    return archive[:directory] + entry + bytes(tail)


def parsed(data: bytes) -> tuple[dict, bytes]:
    """The header of a .npy of version 1, whose elements begin at a multiple of 64."""
    equal((data[:8], int.from_bytes(data[8:10], "little") % 64, data[9 + data[8] + 256 * data[9]]),
          (b"\x93NUMPY\x01\x00", 54, ord("\n")), "a .npy of version 1")
    end = 10 + int.from_bytes(data[8:10], "little")
    return eval(data[10:end]), data[end:]


VALUES = [i / 4 for i in range(6)]
X, IDS = struct.pack("<6f", *VALUES), struct.pack("<2q", 1, 3)
ARRAY = npy("'<f4'", (2, 3), X)
Y = struct.pack("<6f", *(v * (1 if i < 3 else 3) for i, v in enumerate(VALUES)))

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "both.c").write_text(SOURCE, encoding="utf-8")
    (folder / "brief.c").write_text(SHORT, encoding="utf-8")
    (folder / "halves.c").write_text(HALVES, encoding="utf-8")
    (folder / "steps.c").write_text(STEPS, encoding="utf-8")
    (folder / "two.c").write_text(TWO, encoding="utf-8")
    files = {
        "x.npy": ARRAY, "ids.npy": npy("'<i8'", (2,), IDS, version=2), "all.npz": npz(
            {"x.npy": ARRAY, "ids.npy": npy("'<i8'", (2,), IDS, version=3), "readme.txt": b"no array"}),
        "other.npz": npz({"arr_0.npy": ARRAY, "ids.npy": npy("'<i8'", (2,), IDS)}), "before.npz": npz(
            {"sum.npy": npy("'<f4'", (3,), struct.pack("<3f", 1, 2, 3))}),
        "f.npy": npy("'<f4'", (2, 3), X, fortran=True), "big.npy": npy("'>f4'", (2, 3), X),
        "objects.npy": npy("'|O'", (2, 3), X), "fields.npy": npy("[('a', '<f4')]", (2, 3), X),
        "text.npy": npy("'<U1'", (6,), X), "double.npy": npy("'<f8'", (2, 3), 2 * X),
        "short.npy": npy("'<f4'", (2, 3), X[:-1]), "empty.npy": npy("'<f4'", (0, 3), b""),
        "version.npy": b"\x93NUMPY\x04\x00" + ARRAY[8:], "long.npy": b"\x93NUMPY\x02\x00" + b"\xff" * 100,
        "shape.npy": npy("'<f4'", (2, -3), X), "code.npy": npy("__import__('os')", (2, 3), X), "none.npy": b"\x93NUM",
        "packed.npz": npz({"x.npy": ARRAY}, zipfile.ZIP_DEFLATED), "cut.npz": npz({"x.npy": ARRAY})[:50],
        "lost.npz": b"none".join(npz({"x.npy": ARRAY, "y.npy": ARRAY}).rsplit(b"PK\3\4", 1)),
        "odd.npz": npz({"x.npy": b"text"}), "x.safetensors": b"", "wide.npy": npy("'<f4'", (65, 3), bytes(780)),
        "far.npz": placed(npz({"x.npy": ARRAY}), 1 << 62, 200),
        "farther.npz": placed(npz({"x.npy": ARRAY}), 1 << 63, 200),
        "long.npz": placed(npz({"x.npy": npy("'<f4'", (64, 3), X)}), 0, 1 << 40),
        "a.npy": npy("'<f4'", (2,), struct.pack("<2f", 0.25, 0.5)),
        "any.npz": npz({"labels.npy": npy("'<U1'", (6,), X), "x.npy": ARRAY, "text.npy": b"text",
                        "objects.npy": npy("'|O'", (2, 3), X), "ids.npy": npy("'<i8'", (2,), IDS)}),
        "damaged.npz": npz({"x.npy": ARRAY, "ids.npy": npy("'<i8'", (2,), IDS)}).replace(X[4:], X[4:-4] + bytes(4)),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    models.safetensors(folder / "x.safetensors", {"x": ((2, 3), VALUES)})

    def tool(*words: str, command: str = "run", model: str = "both.c"):
        return models.tool(folder, command, model, *words)

    two = ("--input", "x=x.npy", "--input", "ids=ids.npy")
    result = tool(*two, "--output", "y=y.npy", "--output", "less=less.npy", "-o", "out.npz", "--state-out", "sum.npz")
    equal((result.returncode, result.stderr), (0, ""), "arrays as inputs") or note(result.stdout)
    shown = result.stdout
    ok(shown.startswith("y: f32[2,3]  0 to 3.75, mean 1.625  [0 0.25 0.5 2.25 3 3.75]\n"), "what they give") or \
        note(shown)
    equal(parsed((folder / "y.npy").read_bytes()), ({"descr": "<f4", "fortran_order": False, "shape": (2, 3)}, Y),
          "an output as .npy")
    equal(parsed((folder / "less.npy").read_bytes()),
          ({"descr": "|b1", "fortran_order": False, "shape": (2,)}, b"\1\0"), "and one of bool")
    with zipfile.ZipFile(folder / "out.npz") as archive:
        equal([(m.filename, m.compress_type) for m in archive.infolist()], [("y.npy", 0), ("less.npy", 0)],
              "outputs as .npz")
        equal(archive.read("y.npy"), (folder / "y.npy").read_bytes(), "which holds the same")
    with zipfile.ZipFile(folder / "sum.npz") as archive:
        equal(parsed(archive.read("sum.npy"))[1], struct.pack("<3f", 0.75, 1.25, 1.75), "the state behind the call")
    result = tool("--inputs", "all.npz", "--state", "before.npz", "--state-out", "again.npz")
    equal(result.stdout, shown, "all of a .npz") or note(result.stderr)
    with zipfile.ZipFile(folder / "again.npz") as archive:
        equal(parsed(archive.read("sum.npy"))[1], struct.pack("<3f", 1.75, 3.25, 4.75), "and the state before it")
    for words, text in ((("--inputs", "other.npz", "--map", "x=arr_0"), "names of a .npz may be other ones"),
                        (("--inputs", "x.safetensors", "--input", "ids=ids.npy"), "beside a safetensors file"),
                        (("--inputs", "other.npz", "--input", "x=x.npy"), "beside a .npz"),
                        (("--inputs", "any.npz"), "beside arrays that no tensor can be"),
                        (("--inputs", "damaged.npz", "--input", "x=x.npy"), "beside a damaged one"),
                        (("--inputs", "out.npz", "--input", "x=x.npy", "--input", "ids=ids.npy"), "in place of it"),
                        ((*two, "--seed", "1"), "nothing is made up where all are given")):
        result = tool(*words)
        equal(result.stdout, shown, text) or note(result.stderr)

    made = [tool("--seed", seed, "--dims", "n=4").stdout for seed in ("1", "1", "2")]
    ok(made[0] == made[1] != made[2] and made[0].startswith("y: f32[4,3]  "), "made-up inputs") or note(made)
    result = tool("--input", "ids=ids.npy", "--seed", "1")
    ok(result.stdout.startswith("y: f32[2,3]  "), "beside given ones, with their sizes") or note(result.stderr)

    result = tool("--inputs", "all.npz", "--expect", "out.npz", command="check")
    ok(result.returncode == 0 and "out.npz: y: " in result.stdout, "check takes .npz") or \
        note(result.stdout + result.stderr)
    def checked(*words: str) -> tuple[int, str]:
        found = tool(*(("--isa", "x86_64") if models.X86 else ()), *words, command="check")
        return found.returncode, found.stdout + found.stderr

    code, said = checked(*two, "--expect", "y=y.npy", "--expect", "less=less.npy")
    ok(code == 0 and "y.npy, less.npy: y: largest error 0, " in said and "less.npy: less: equal" in said,
       "check takes .npy, of outputs, too") or note(said)
    (folder / "off.npy").write_bytes(npy("'<f4'", (2, 3), Y[:-4] + struct.pack("<f", 3.7)))
    (folder / "expected.npz").write_bytes(npz({"y.npy": npy("'<f4'", (2, 3), Y)}).replace(Y, Y[:-1] + b"?"))
    code, said = checked("--inputs", "any.npz", "--expect", "expected.npz")
    ok(code == 1 and "expected.npz: y: error: the array is damaged" in said, "a damaged expected output") or note(said)
    code, said = checked("--inputs", "all.npz", "--expect", "y=off.npy")
    ok(code == 1 and "off.npy: y: largest error 0.05, " in said and said.endswith("the first at 5\n"),
       "beside a file, and sees another one") or note(said)
    code, said = checked("--input", "ids=ids.npy", "--seed", "3")
    ok(code == 0 and "both n=2" in said, "check makes up what is not given") or note(said)
    code, said = checked(*two, "--save", "saved.npz")
    with zipfile.ZipFile(folder / "saved.npz") as archive:
        equal((code, archive.namelist(), parsed(archive.read("y.npy"))[1]), (0, ["y.npy", "less.npy"], Y),
              "check --save writes a .npz where the name says so") or note(said)
    code, said = checked("--inputs", "all.npz", "--expect", "saved.npz")
    ok(code == 0 and "saved.npz: y: largest error 0, " in said, "which --expect reads") or note(said)
    result = tool("--seed", "1", "--save", "y.npz", command="check", model="brief.c")
    ok(result.returncode == 1 and "y.npz: error: y is bf16, which NumPy does not have" in result.stderr and
       "right" not in result.stdout, "--save of bf16") or note(result.stdout + result.stderr)
    code, said = checked("--save", "y.npy")
    ok(code == 2 and "--save y.npy: a .npy holds one array without a name; write a .npz\n" in said, "--save y.npy") or \
        note(said)
    # the state before the call; its sum in f32 is that of 2^24 and six quarters, or of six of them
    (folder / "large.npz").write_bytes(npz({"sum.npy": npy("'<f4'", (3,), struct.pack("<3f", 1 << 24, 0, 0))}))
    code, said = checked(*two, "--state", "large.npz")
    large = said.partition("state: double precision: sum: largest error ")[2].partition(",")[0]
    ok(code == 0 and float(large) == 0.75, "check takes a state") or note(said)
    for words, code, text in (
            ((*two, "--state", "x.safetensors"), 1, 'x.safetensors: error: no tensor "sum" for the state sum\n'),
            ((*two, "--state", "sums.npz"), 1,
             "sums.npz: error: state sum: the file has f64[3], the model takes f32[3]\n"),
            ((*two, "--expect", "z=y.npy"), 2,
             "--expect z=y.npy: both has no output 'z'\n  hint: its outputs: y, less\n"),
            (("--input", "x=x.npy"), 2, "--input of ids is missing: both takes x, ids\n"),
            (("--input", "z=x.npy"), 2, "--input z=x.npy: both has no input 'z'\n"),
            (("--expect", "y=y.npy"), 2, "--expect needs --inputs or --input\n"),
            ((*two, "--inputs", "all.npz", "--inputs", "all.npz"), 2,
             "--input NAME=FILE and --expect NAME=FILE go with one --inputs and one --dims\n"),
            ((*two, "--expect", "y=y.npy", "--expect", "y=off.npy"), 2, "--expect names y more than once\n"),
            ((*two, "--expect", "y.npy"), 1, "y.npy: error: one array, where tensors by name are read\n")):
        (folder / "sums.npz").write_bytes(npz({"sum.npy": npy("'<f8'", (3,), bytes(24))}))
        got, said = checked(*words)
        ok(got == code and text in said and "Traceback" not in said, f"check {' '.join(words)}") or note(said)
    result = tool("--state", "x.safetensors", "--seed", "1", command="check", model="brief.c")
    ok(result.returncode == 2 and "--state: the model has no state" in result.stderr, "a state of none") or \
        note(result.stderr)

    for command, words in (("profile", ("--input", "ids=ids.npy")), ("profile", two), ("bench", two),
                           ("profile", ("--inputs", "all.npz"))):
        result = tool(*words, "--calls", "3", command=command)
        ok(result.returncode == 0 and "both at n=2: " in result.stdout, f"{command} {' '.join(words)}") or \
            note(result.stdout + result.stderr)

    (folder / "halves-a.npy").write_bytes(npy("'<f4'", (2,), bytes(8)))
    (folder / "halves-b.npy").write_bytes(npy("'<f4'", (9,), bytes(36)))
    pair = ("--input", "a=halves-a.npy", "--input", "b=halves-b.npy")
    result = tool(*pair, model="halves.c")
    ok(result.returncode == 2 and "the shapes of the inputs do not tell the dim m\n  hint: name it: --dims m=SIZE" in
       result.stderr, "a dim of which a shape leaves two sizes is not guessed") or note(result.stdout + result.stderr)
    equal([tool(*pair, "--dims", f"m={m}", model="halves.c").returncode for m in (3, 4, 5, 6)], [1, 0, 0, 1],
          "but may be named")
    # sizes that contradict each other, and those that a dim does not take
    result = tool("--input", "x=wide.npy", "--input", "ids=ids.npy")
    equal(result.stderr, "ids.npy: error: input ids: the file has i64[2], the model takes i64[n]: axis 0 is 2, not 65\n"
          "  hint: n = 65 by axis 0 of the input x in wide.npy\n", "two files of other sizes are both named")
    result = tool(*two, "--dims", "n=3")
    equal(result.stderr, "x.npy: error: input x: the file has f32[2,3], the model takes f32[n,3]: axis 0 is 2, not 3\n"
          "  hint: n = 3 by --dims\n", "and --dims")
    for size in (8, 12, 16, 72, 5):
        (folder / f"{size}.npy").write_bytes(npy("'<f4'", (size,), bytes(4 * size)))
    result = tool("--input", "x=16.npy", "--input", "both=5.npy", "--dims", "w=1", model="steps.c")
    equal(result.stderr, "5.npy: error: input both: the file has f32[5], the model takes f32[h + w]: axis 0 is 5, "
          "not 17\n  hint: h = 16 by axis 0 of the input x in 16.npy; w = 1 by --dims\n",
          "a size of two dims has two origins")
    result = tool("--input", "x=12.npy", "--input", "both=16.npy", model="steps.c")
    equal((result.returncode, result.stderr), (
          1, "12.npy: error: input x: the file has f32[12], the model takes f32[h]: "
          "axis 0 is 12, which no h, a multiple of 8, gives\n  hint: the range of h is declared at steps.c:4\n"),
          "a size that is no multiple of the dim's divisor")
    result = tool("--input", "x=72.npy", "--input", "both=16.npy", "--dims", "w=1", model="steps.c")
    ok(result.returncode in (1, 2) and "no multiple" not in result.stderr, "one out of range says nothing of it")
    for size, text in ((12, "--dims: h = 12 is no multiple of 8\n  hint: the range of h is declared at steps.c:4\n"),
                       (72, "--dims: h = 72 is not in 8..64\n  hint: the range of h is declared at steps.c:4\n")):
        result = tool("--seed", "1", "--dims", f"h={size},w=1", model="steps.c")
        ok(result.returncode == 2 and text in result.stderr, f"--dims h={size}") or note(result.stderr)

    result = tool(*two, "--output", "y=o.npy", "--output", "less=./o.npy")
    ok(result.returncode == 2 and "o.npy is to be written twice: every --output, --outputs and "
       "--state-out has a file of its own" in result.stderr and not (folder / "o.npy").exists(),
       "two outputs of one file") or note(result.stderr)
    models.safetensors(folder / "mapped.safetensors", {"x": ((2,), [1, 2]), "others": ((64,), [3] * 64)})
    result = tool("--function", "first", "--inputs", "mapped.safetensors", "--map", "z=x", "--input", "x=a.npy",
                  model="two.c")
    ok(result.stdout.startswith("y: f32[2]  100.25 to 200.5, "), "a name that two files have") or \
        note(result.stdout + result.stderr)
    result = tool("--function", "second", "--input", "x=a.npy", "-o", "y.npz", "--state-out", "s.npz",
                  model="two.c")
    ok(result.returncode == 1 and result.stderr.startswith("s.npz: error: h is bf16, which NumPy"),
       "a state of bf16 names its own file") or note(result.stderr)
    result = tool("--function", "first", "--seed", "1", "--state-out", "s.npz", model="two.c")
    ok(result.returncode == 1 and "h is bf16, which NumPy" in result.stderr, "so does one of another function") or \
        note(result.stderr)

    dtypes = "tensors have float32, float64, float16, int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool"
    for words, code, text in (
            (("--input", "x=f.npy"), 1, "f.npy: error: the array lies in Fortran order\n"
             "  hint: tensors lie in C order: np.ascontiguousarray(x)\n"),
            (("--input", "x=big.npy"), 1, "big.npy: error: the elements are big-endian (>f4)\n"
             '  hint: those of tensors are little-endian: x.astype("<f4")\n'),
            (("--input", "x=objects.npy"), 1, "objects.npy: error: the elements are Python objects\n"
             '  hint: x.astype("float32") makes numbers of them, where all rows have one length\n'),
            (("--input", "x=fields.npy"), 1, "fields.npy: error: no tensor has elements of dtype [('a', '<f4')]\n"
             f"  hint: {dtypes}\n"),
            (("--input", "x=text.npy"), 1, "text.npy: error: no tensor has elements of dtype '<U1'\n"),
            (("--input", "x=short.npy"), 1, "short.npy: error: truncated: f32[2, 3] has 24 bytes, 23 are there\n"),
            (("--input", "x=version.npy"), 1, "version 4.0 of the .npy format is not known\n"),
            (("--input", "x=long.npy"), 1, "not a .npy file: its header is too long\n"),
            (("--input", "x=shape.npy"), 1, "shape.npy: error: not a .npy file: its header makes no sense\n"),
            (("--input", "x=code.npy"), 1, "code.npy: error: not a .npy file: its header makes no sense\n"),
            (("--input", "x=none.npy"), 1, "none.npy: error: not a .npy file\n  hint: np.save writes one\n"),
            (("--input", "x=no.npy"), 1, "no.npy: error: no such file\n"),
            (("--input", "x=."), 1, ".: error: not a regular file\n"),
            (("--inputs", "packed.npz"), 1, "packed.npz: x: error: the array is compressed or encrypted\n"
             "  hint: np.savez writes arrays as they are\n"),
            (("--inputs", "damaged.npz"), 1,
             "damaged.npz: x: error: the array is damaged: its check sum (CRC-32) is another one\n"),
            (("--inputs", "any.npz", "--map", "x=labels"), 1, "any.npz: labels: error: no tensor has elements of dtype "
             "'<U1'\n"),
            (("--inputs", "any.npz", "--map", "x=text"), 1, "any.npz: text: error: not a .npy file\n"),
            (("--inputs", "cut.npz"), 1, "cut.npz: error: not a .npz file: "),
            (("--inputs", "lost.npz", "--map", "x=y"), 1,
             "lost.npz: y: error: not a .npz file: no array begins where its directory has one\n"),
            (("--inputs", "far.npz"), 1, "far.npz: x: error: not a .npz file: no array begins where"),
            (("--inputs", "farther.npz"), 1, "farther.npz: x: error: not a .npz file: no array begins where"),
            (("--inputs", "long.npz"), 1, "long.npz: x: error: truncated: f32[64, 3] has 768 bytes, "),
            (("--input", f"x={'a' * 300}"), 1, "error: cannot be read: File name too long\n"),
            (("--inputs", "odd.npz"), 1, "odd.npz: x: error: not a .npy file\n"),
            (("--inputs", "x.npy"), 1, "x.npy: error: one array, where tensors by name are read\n"
             "  hint: np.savez(FILE, NAME=x) writes an array with its name; --input NAME=FILE takes it as it is, "),
            (("--input", "x=double.npy", "--input", "ids=ids.npy"), 1, "double.npy: error: input x: the file has "
             'f64[2,3], the model takes f32[n,3]\n  hint: x.astype("float32")\n'),
            (("--input", "x=empty.npy", "--seed", "1"), 2, "empty.npy: error: n = 0 is not in 1..64\n"),
            (("--input", "x=wide.npy", "--input", "ids=ids.npy"), 1, "ids.npy: error: input ids: the file has i64[2]"),
            (("--input", "z=x.npy"), 2, "--input z=x.npy: both has no input 'z'\n  hint: its inputs: x, ids\n"),
            (("--input", "x=x.npy"), 2, "--input of ids is missing: both takes x, ids\n"),
            (("--input", "x=x.npy", "--input", "x=f.npy"), 2, "--input names x more than once\n"),
            (("--input", "x.npy"), 2, "not NAME=FILE.npy: 'x.npy'"),
            ((), 2, "--inputs is missing: both takes x, ids\n  hint: --inputs FILE has them by name (safetensors, or a "
             ".npz of NumPy), --input NAME=FILE.npy is one of them, --seed 1 makes up the others\n"),
            (("--seed", "1"), 2, "the shapes of the inputs do not tell the dim n\n"),
            ((*two, "--output", "z=z.npy"), 2, "--output z=z.npy: both has no output 'z'\n"
             "  hint: its outputs: y, less\n"),
            ((*two, "-o", "y.npy"), 2, "--outputs y.npy: a .npy holds one array without a name; write a .npz, or each "
             "output by --output NAME=FILE.npy\n")):
        result = tool(*words)
        ok(result.returncode == code and text in result.stderr and "Traceback" not in result.stderr,
           f"{' '.join(words) or 'nothing'}: exit code {code}") or note(f"{result.returncode}\n{result.stderr}")
    real = Path.open

    def refuses(path: Path, *words: str) -> io.BufferedReader:
        """Root may read anything: a file says no by itself."""
        if path.name in ("x.npy", "x.safetensors"):
            raise PermissionError(13, "Permission denied")
        return real(path, *words)
    Path.open = refuses
    for words in (("--input", "x=x.npy"), ("--inputs", "x.safetensors")):
        result = tool(*words)
        ok(result.returncode == 1 and ": error: cannot be read: Permission denied\n" in result.stderr,
           f"{words[1]} without the right to read it") or note(result.stderr)
    Path.open = real
    for words in (("--output", "y=y.npy"), ("-o", "y.npz")):
        result = tool("--seed", "1", *words, model="brief.c")
        ok(result.returncode == 1 and "y is bf16, which NumPy does not have\n  hint: a safetensors file can hold it" in
           result.stderr, f"bf16 and {words[0]}") or note(result.stdout + result.stderr)
done()
