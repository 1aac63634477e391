# SPDX-License-Identifier: Apache-2.0
"""Cases that lie in a zip file, a folder each: imported, built together and run; a TAP point a case."""
from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Callable

import conformance
import tap
from processor import lacks
from tensor_compile.errors import UserError


def run(stored: Path, wanted: list[str], job: Callable[[str, zipfile.ZipFile, Path], conformance.Job], cache_name: str,
        family: str = "") -> None:
    """Ends the test. wanted: the cases, all where empty; with --all, kernels are compiled as users compile them. job:
    of a case, which may write into the folder; family: stands before the names of the points."""
    label = f"{family} " if family else ""
    if "--all" in wanted:
        conformance.OPTIMISE = "-O3"
        wanted = [word for word in wanted if word != "--all"]
    if lacks(conformance.ISA):
        tap.skip(family or "cases", f"this processor has no {conformance.ISA}")
        tap.done()
    cache = Path(os.environ["TC_TESTS_CACHE"]) / cache_name
    cache.mkdir(parents=True, exist_ok=True)
    jobs, results = [], []
    with zipfile.ZipFile(stored) as archive, tempfile.TemporaryDirectory() as temporary:
        names = sorted({name.partition("/")[0] for name in archive.namelist()})
        for case in wanted or names:
            try:
                jobs.append(job(case, archive, Path(temporary)))
            except UserError as error:
                results.append(conformance.Result(case, "unsupported", error.message))
        results += conformance.run_batch(jobs, cache, 2)
    for result in sorted(results, key=lambda r: r.case):
        if not tap.ok(result.status == "passed", f"{label}{result.case}"):
            tap.note(f"{result.status}: {result.reason}")
    tap.equal(len(results), len(wanted or names), "every case was run")
    tap.done()
