# SPDX-License-Identifier: Apache-2.0
"""`build --emit python`: a module whose functions have the values of NumPy; states, several results, sizes by name,
threads; mistakes are exceptions."""
import importlib
import os
import sys
import tempfile
from pathlib import Path

import models
from tap import done, equal, note, ok, skip

SOURCE = """#include <tensor_compile/model.h>
TC_MODEL(net)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 3);
    tc_output(g, "y", tc_mul(x, 2));
    tc_output(g, "pairs", tc_concat(0, x, x));
}

TC_FUNCTION(count)
{
    tc_dim m = tc_dynamic(g, "m", 1, 8);
    tc_tensor total = tc_state(g, "total", TC_F32), a = tc_input(g, "a", TC_F32);
    total = tc_add(total, a);
    tc_assign(tc_state(g, "total", TC_F32), total);
    tc_output(g, "so_far", tc_expand(total, m));
}
"""

try:
    import numpy as np
except ImportError:
    np = None
if np is None:
    skip("--emit python", "NumPy is not installed")
    done()
    sys.exit(0)

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "net.c").write_text(SOURCE, encoding="utf-8")
    isa = ("--isa", "x86_64") if models.X86 else ()
    result = models.tool(folder, "build", "net.c", *isa, "--emit", "python", "-o", "out")
    equal((result.returncode, result.stdout + result.stderr), (0, ""), "a module is built")
    equal(sorted(p.name for p in (folder / "out").iterdir() if not p.name.startswith(".")), ["libnet.so", "net.py"],
          "two files")
    sys.path.insert(0, str(folder / "out"))
    net = importlib.import_module("net")
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    state = net.new_state()
    for threads in (1, 3):
        got = net.net(x.T.copy().T, threads=threads, state=state)
        ok((got["y"] == 2 * x).all() and (got["pairs"] == np.concatenate([x, x])).all(),
           f"results by name, {threads} threads")
    for want in (1.5, 3.0):
        equal(net.net_count(np.float32(1.5), m=2, state=state).tolist(), [want, want],
              "a state, a size by name, one result")
    equal(net.net_count(a=np.float32(1), m=1, state=net.new_state()).tolist(), [1.0], "another state, an input by name")

    with net.Pool(3) as pool, net.Pool(processors=[-1, -1]) as anywhere:
        for team in (pool, pool, anywhere):
            ok((net.net(x, threads=team, state=state)["y"] == 2 * x).all(), f"a pool of {team.threads} that stays")
    if sys.platform == "linux":
        here = sorted(os.sched_getaffinity(0))[-1]
        tasks = {task.name for task in Path("/proc/self/task").iterdir()}
        with net.Pool(processors=[-1, here]):
            (worker,) = {task.name for task in Path("/proc/self/task").iterdir()} - tasks
            places = Path("/proc/self/task", worker, "status").read_text()
            ok(f"Cpus_allowed_list:\t{here}\n" in places, "a thread stays on its processor") or note(places)

    def mistake(name: str, call, kind: type, message: str) -> None:
        try:
            call()
            ok(False, name)
        except kind as error:
            ok(message in str(error), name) or note(str(error))

    mistake("a closed pool", lambda: net.net(x, threads=pool, state=state), ValueError, "net: the pool is closed")
    mistake("a pool of none", lambda: net.Pool(0), net.Error, "no pool of 0 threads can be made")
    mistake("a processor that is not there", lambda: net.Pool(processors=[-1, 99999]), net.Error,
            "no pool of 2 threads on processors -1, 99999 can be made")
    mistake("too few processors", lambda: net.Pool(3, [0, 1]), ValueError, "3 threads, 2 processors")
    mistake("a dtype", lambda: net.net(x.astype(np.float64), state=state), TypeError, "net: x is float64, not float32")
    mistake("a rank", lambda: net.net(x[0], state=state), net.Error, "rank")
    mistake("a size", lambda: net.net(np.zeros((65, 3), np.float32), state=state), net.Error, "n")
    mistake("no state", lambda: net.net(x), TypeError, "state is missing: new_state() makes one")
    mistake("no size", lambda: net.net_count(np.float32(1), state=state), TypeError, "the dim m is not told by a shape")
    mistake("no input", lambda: net.net_count(m=1, state=state), TypeError, "the input a is missing")
    mistake("an unknown name", lambda: net.net(x, z=1, state=state), TypeError,
            "z is no input or dim, or is given twice")
    mistake("too many", lambda: net.net(x, x, state=state), TypeError, "takes 1 inputs, 2 were given")
    # Weights in huge pages, as many as the system gives.
    (folder / "wide.c").write_text('#include <tensor_compile/model.h>\nTC_MODEL(wide)\n{\n'
                                   '    tc_weights(g, "wide.safetensors");\n    tc_output(g, "y", tc_matmul('
                                   'tc_input(g, "x", TC_F32, 1, 1024), tc_weight(g, "w")));\n}\n', encoding="utf-8")
    models.safetensors(folder / "wide.safetensors", models.seeded({"w": (1024, 2048)}, 1))
    result = models.tool(folder, "build", "wide.c", *isa, "--emit", "python", "-o", "out")
    equal((result.returncode, result.stdout + result.stderr), (0, ""), "a model of 8 MiB is built")
    wide = importlib.import_module("wide")
    one = np.linspace(0, 1, 1024, dtype=np.float32)[None]
    before = wide.wide(one)
    huge = wide.use_huge_pages()
    enabled = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    given = enabled.exists() and "[never]" not in enabled.read_text()
    ok(0 <= huge <= 1 << 23 and (huge >= 1 << 21 or not given), f"{huge} bytes lie in huge pages")
    ok((wide.wide(one) == before).all(), "and are what they were")
    # Names that hold the words which the module's text is made from.
    (folder / "MODEL.c").write_text('#include <tensor_compile/model.h>\nTC_MODEL(STATE)\n{\n'
                                    '    tc_output(g, "y", tc_mul(tc_input(g, "x", TC_F32, 3), 2));\n}\n',
                                    encoding="utf-8")
    result = models.tool(folder, "build", "MODEL.c", *isa, "--emit", "python", "-o", "named")
    equal((result.returncode, result.stdout + result.stderr), (0, ""), "a model STATE in MODEL.c is built")
    sys.path.insert(0, str(folder / "named"))
    named = importlib.import_module("MODEL")
    equal(named.STATE(np.float32([1, 2, 3])).tolist(), [2.0, 4.0, 6.0], "and called")
    for words, text in ((("--header", "h.py"),
                         "--header does not go with --emit python, which makes a module and its library"),
                        (("--weights", "external"), "--weights external does not go with --emit python")):
        result = models.tool(folder, "build", "net.c", "--emit", "python", *words)
        ok(result.returncode == 2 and text in result.stderr, f"{words}: exit code 2") or note(result.stderr)
done()
