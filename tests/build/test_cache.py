# SPDX-License-Identifier: Apache-2.0
"""The cache: made once, safe when two builds make one entry, nothing left behind by what fails; records of builds."""
import os
import shutil
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

from tap import done, equal, ok, raises
from tensor_compile.compile import record
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.options import Options
from tensor_compile.errors import UserError

with tempfile.TemporaryDirectory() as folder:
    root = Path(folder)
    cache = Cache(root / "cache")
    made = []

    def make(work: Path) -> None:
        made.append(work)
        (work / "x").write_text("1")

    first, second = cache.entry("kind", "k" * 64, make), cache.entry("kind", "k" * 64, make)
    equal((first, len(made)), (second, 1), "an entry is made once")
    equal((first / "x").read_text(), "1", "and keeps what was made")

    equal((root / "cache" / ".gitignore").read_text(), "*\n", "version control leaves it alone")

    def fail(work: Path) -> None:
        (work / "half").write_text("")
        raise ValueError("no")

    raises(ValueError, lambda: cache.entry("kind", "f" * 64, fail), "no", "what making raises is passed on")
    equal(sorted(p.name for p in (root / "cache" / "kind").iterdir()), ["k" * 40], "and leaves nothing behind")

    gate = threading.Barrier(4)

    def slow(work: Path) -> None:
        gate.wait()
        (work / "x").write_text("same")

    threads = [threading.Thread(target=lambda: cache.entry("kind", "r" * 64, slow)) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    equal(sorted(p.name for p in (root / "cache" / "kind").iterdir()), ["k" * 40, "r" * 40], "four makers, one entry")

    model, out, header, lock = root / "model.c", root / "model.o", root / "model.h", root / "model.tuning.lock"
    for path in (model, out, header):
        path.write_text(path.name)
    options = Options(str(model), "model.c", str(out), str(header), str(cache.root), specialize=(("batch", (1, 32)),),
                      isas=("avx2",))
    equal(Options.parse(options.text()), options, "options survive being written")
    equal(record.renew(options, []), None, "nothing is current before the first build")
    def write() -> None:
        inputs = record.Inputs(cache.root)
        inputs.digest(model)
        record.write(options, inputs, [str(root)], [out, header])

    write()
    os.utime(out, (1, 1))
    write()
    equal(record.renew(options, []), [str(root), str(model)], "an unchanged model is current")
    ok(out.stat().st_mtime > 1000, "and its outputs get the present time")
    equal(record.renew(options, []), [str(root), str(model)], "which does not make it stale")
    os.utime(model)
    equal(record.renew(options, []), [str(root), str(model)], "nor does a new time of the same content")
    equal(record.renew(replace(options, verify=True), []), None, "other options do")
    equal(record.renew(options, [lock]), None, "so does a lock that has appeared")
    model.write_text("changed")
    equal(record.renew(options, []), None, "and a changed input")
    model.write_text(model.name)
    out.unlink()
    equal(record.renew(options, []), None, "and a missing output")
    equal([o.model for o in record.builds(cache.root)], [str(model)], "records name every model of a build")

    # -- other builds make entries and take them away meanwhile
    shared, ended = root / "shared", threading.Event()

    def other() -> None:
        deep = shared / "objects" / f"entry-{threading.get_ident()}" / "deep" / "deeper"
        while not ended.is_set():
            deep.mkdir(parents=True)
            shutil.rmtree(deep.parent.parent)

    others = [threading.Thread(target=other) for _ in range(3)]
    for thread in others:
        thread.start()
    failed = []
    for _ in range(200):
        try:
            with Cache(shared).scratch():
                pass
        except UserError as error:
            failed.append(str(error))
    ended.set()
    for thread in others:
        thread.join()
    equal(failed, [], "builds that run at once do not disturb each other")
done()
