# SPDX-License-Identifier: Apache-2.0
"""The same programs as several versions of PyTorch export and save them: each is imported. Those that give the same
model.c and weights are one model, and their results are compared. test_versions.py build: every model is built, called
and compared with PyTorch's results. versions.py makes the cases."""
from __future__ import annotations

import os
import re
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

import conformance
import tap
from processor import lacks
from tensor_compile.errors import UserError
from tensor_compile.importer.pytorch import reader
from test_cases import CASES, job

VERSIONS = {path.stem: path for path in sorted((CASES / "versions").glob("*.zip"))}


def model(case: str, archive: zipfile.ZipFile, folder: Path) -> tuple[str, bytes, bytes]:
    """model.c without its checksum, the weights, and the inputs of the call."""
    path = folder / f"{case}.pt2"
    path.write_bytes(archive.read(f"{case}/program.pt2"))
    written = reader.import_file(path, path.name)
    return (re.sub("sha256 of.*", "", written.text), b"".join(written.blocks()),
            archive.read(f"{case}/inputs.safetensors"))


def collected(folder: Path) -> list[conformance.Job]:
    """One job for each model that differs from all before it; results of the others are those of the job."""
    jobs: dict[str, list[tuple[tuple[str, bytes, bytes], conformance.Job]]] = {}
    for version, path in VERSIONS.items():
        label = f"v{version.replace('.', '_')}_"
        place = folder / version
        place.mkdir()
        with zipfile.ZipFile(path) as archive:
            names = sorted({name.partition("/")[0] for name in archive.namelist()})
            tap.ok(len(names) >= 11, f"PyTorch {version} exported {len(names)} programs")
            for case in names:
                try:
                    made = model(case, archive, place)
                except UserError as error:
                    tap.ok(False, f"{case} of PyTorch {version} is imported")
                    tap.note(error.message)
                    continue
                if case == "conv":
                    lines = set(re.findall(r'#line \d+ "(.*)"', made[0]))
                    tap.ok("for (int i = 0; i < 3; i++)" in made[0] and lines == {"versions.py", "model.c"},
                           f"PyTorch {version}: equal blocks are a loop, and #line tells the user's own Python")
                same = next((j for m, j in jobs.setdefault(case, []) if m == made), None)
                if same is None:
                    jobs[case].append((made, job(case, archive, place, label)))
                    tap.ok(True, f"{case} of PyTorch {version} is imported")
                    continue
                (place / "out").write_bytes(archive.read(f"{case}/outputs.safetensors"))
                tap.equal(conformance.compare(same, place / "out"), "",
                          f"{case} of PyTorch {version} is imported as {same.case}")
    return [j for found in jobs.values() for _, j in found]


def main(build: bool) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        jobs = collected(Path(temporary))
        if not build or lacks(conformance.ISA):
            tap.skip("results", f"this processor has no {conformance.ISA}" if build else "nothing is built")
            tap.done()
        cache = Path(os.environ["TC_TESTS_CACHE"]) / "pytorch"
        cache.mkdir(parents=True, exist_ok=True)
        for result in conformance.run_batch(jobs, cache, 2):
            if not tap.ok(result.status == "passed", f"results of {result.case}"):
                tap.note(f"{result.status}: {result.reason}")
    tap.done()


main(sys.argv[1:] == ["build"])
