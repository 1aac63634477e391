# SPDX-License-Identifier: Apache-2.0
"""Names of inputs, outputs and dims: refused with a message, or members of a header that every C and C++ reads behind
any of their headers."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from places import ROOT, said, tool
from tap import done, equal, note, ok, skip
from tensor_compile.c_names import KEYWORDS, is_macro

SHARED = os.environ["TC_TESTS_CACHE"]
INCLUDES = ("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "limits", "locale", "math", "setjmp",
            "signal",
            "stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "time", "wchar", "unistd", "pthread")
CPP = [name for name in INCLUDES if name not in ("complex", "stdbool")]
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
"""


def refused(names: list[str], declare: str) -> dict[str, str]:
    """What is said about each name, in one run."""
    folder = Path(scratch) / "refused"
    folder.mkdir(exist_ok=True)
    (folder / "model.c").write_text(MODEL + "".join(f"    {declare.replace('NAME', n)}\n" for n in names)
                                    + '    tc_output(g, "y", tc_relu(tc_input(g, "x", TC_F32, 1)));\n}\n',
                                    encoding="utf-8")
    failed = tool(folder, "model.c", "-o", "out", "--cache", SHARED)
    return dict(re.findall(r'error: tc_\w+: \w+ name "(\w+)" is (.*)', failed.stderr))


def macros(language: str, standard: str, headers: list[str] | tuple[str, ...]) -> set[str]:
    """All macros without arguments behind the headers, but what is reserved."""
    text = "".join(f"#include <{name}.h>\n" for name in headers)
    shown = subprocess.run(["cc", "-x", language, f"-std={standard}", "-dM", "-E", "-"], input=text,
                           capture_output=True,
                           text=True, check=True).stdout
    return {name for name in re.findall(r"^#define (\w+)(?!\()(?:\s|$)", shown, re.M) if not re.match("_|.*__", name)}


with tempfile.TemporaryDirectory() as scratch:
    # Standard C's own macros, as this compiler has them; gnu17 adds the compiler's, such as linux and unix.
    standard = macros("c", "c17", [n for n in INCLUDES if n not in ("unistd", "pthread")]) | macros("c", "gnu17", [])
    said_of = refused(sorted(standard), 'tc_input(g, "NAME", TC_F32, 1);')
    missed = sorted(n for n in standard if "macro" not in said_of.get(n, "") and "keyword" not in said_of.get(n, ""))
    equal(missed, [], f"all {len(standard)} macros of standard headers are refused")
    said_of = refused(sorted(KEYWORDS), 'tc_input(g, "NAME", TC_F32, 1);')
    equal({n: "is a keyword" in f"is {said_of.get(n)}" for n in KEYWORDS}, dict.fromkeys(KEYWORDS, True),
          "all keywords are refused, C23's and C++20's among them")
    equal([n for n in standard if n not in KEYWORDS and not is_macro(n)], [], "importers know the same ones")
    listed = ["typeof", "linux", "unix", "errno", "EOF", "NULL", "INT64_MAX", "co_await", "M_PI", "EINTR", "SIGINT"]
    for declare in ('tc_dynamic(g, "NAME", 1, 2);', 'tc_output(g, "NAME", tc_input(g, "x", TC_F32, 1));'):
        equal(sorted(refused(listed, declare)), sorted(listed), f"so in {declare}")
    equal(sorted(refused(["_A", "a__b", "tc_x", "TC_X", "__x", "TENSOR_COMPILE_MODEL_M_H"],
                         'tc_input(g, "NAME", TC_F32, 1);').values()), ["reserved"] * 6,
          "reserved names")
    fine = ["x", "e", "E", "I_", "ENCODER", "SIGMA", "INT", "int8", "N_X", "PRIOR", "SCN", "FLOAT", "INT9x", "_x", "x_",
            "INT_C",
            "size", "main", "Linux", "INTMAX", "sum", "max"]
    equal(refused(fine, 'tc_input(g, "NAME", TC_F32, 1);'), {}, "names that only resemble them are not refused")
    equal([n for n in fine if is_macro(n)], [], "and importers do not change them")
    for name in ("class", "errno", "tc_run"):
        folder = Path(scratch) / "model"
        folder.mkdir(exist_ok=True)
        (folder / "model.c").write_text(MODEL.replace("(m)", f"({name})")
                                        + '    tc_output(g, "y", tc_relu(tc_input(g, "x", TC_F32, 1)));\n}\n',
                                        encoding="utf-8")
        failed = tool(folder, "model.c", "-o", "out", "--cache", SHARED)
        ok(failed.returncode == 1 and f'model.c:2: error: model name "{name}" is ' in failed.stderr, f"a model {name}"
           ) or note(failed.stderr)

    (folder / "model.c").write_text(MODEL + '    tc_output(g, "M_SIZE", tc_relu(tc_input(g, "x", TC_F32, 1)));\n}\n',
                                    encoding="utf-8")
    failed = tool(folder, "model.c", "-o", "out", "--cache", SHARED)
    ok(failed.returncode == 1
       and "m: output 'M_SIZE' is named as the macros of the model's header are" in failed.stderr,
       "an output M_SIZE of a model m") or note(failed.stderr)

    # Every word that headers and drivers are made of, as dim, input and output.
    words: set[str] = {*fine}
    for round_ in range(2):
        folder = Path(scratch) / f"words{round_}"
        folder.mkdir()
        text = MODEL + "    tc_dim n;\n    tc_tensor x;\n"
        names = sorted({w.lower(): w for w in sorted(words)}.values())  # macros are of capitals
        third = [names[i::3] for i in range(3)]
        for name in third[0]:
            text += f'    n = tc_dynamic(g, "{name}", 1, 3);\n    x = tc_input(g, "in{name}", TC_F32, n);\n'
            text += f'    tc_output(g, "res{name}", tc_relu(x));\n'
        for name in third[1]:
            text += f'    x = tc_input(g, "{name}", TC_F32, 2);\n'
        text += '    x = tc_add(x, tc_state(g, "kept", TC_F32, 2));\n    tc_assign(tc_state(g, "kept", TC_F32, 2), x);\n'
        for name in third[2]:
            text += f'    tc_output(g, "{name}", x);\n'
        (folder / "model.c").write_text(text + "}\n", encoding="utf-8")
        made = tool(folder, "model.c", "-o", "out", "--cache", SHARED, "--keep", "keep")
        if not ok(made.returncode == 0, f"{len(names)} names") or note(made.stderr[:2000]):
            note(made.stderr[:3000])
            break
        for language, standard_, includes, compiler in (
                ("c", "c11", INCLUDES, "gcc"), ("c", "gnu11", INCLUDES, "gcc"), ("c", "gnu2x", INCLUDES, "gcc"),
                ("c++", "c++11", CPP, "g++"), ("c++", "c++20", CPP, "g++"), ("c++", "gnu++20", CPP, "g++"),
                ("c", "gnu2x", INCLUDES, "clang")):
            if not shutil.which(compiler):
                skip(f"{compiler} -std={standard_}", "not installed")
                continue
            source = "".join(f"#include <{n}.h>\n"
                             for n in includes) + '#include "model.h"\nm_args a; int main(void) { return 0; }\n'
            read = subprocess.run([compiler, "-x", language, f"-std={standard_}", "-fsyntax-only", "-D_GNU_SOURCE",
                                   "-Iout",
                                   f"-I{ROOT}/runtime/include", "-"], input=source, cwd=folder, capture_output=True,
                                   text=True,
                                  check=False)
            ok(read.returncode == 0, f"{compiler} -std={standard_} reads the header") or note(read.stderr[:1500])
        generated = (folder / "out" / "model.h").read_text() + (folder / "keep" / "tcd_m.c").read_text()
        words = {w for w in re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"|/\*.*?\*/', "", generated, flags=re.S))
                 if not re.match("tc_|TC_|TENSOR_|tck_|tcd_|.*__|_[A-Z]|[mM]_|in|res", w) and w not in KEYWORDS
                 and w not in ("NULL", "state", "counters") and w not in standard}
        words |= {"threads", "dims", "args", "context", "d", "offsets", "size_t", "uint64_t", "ptrdiff_t"}
done()
