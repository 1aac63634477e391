# SPDX-License-Identifier: Apache-2.0
"""Damaged models end in one error: a fixed number of what fuzz.py tries (641 took a body for one with enough
outputs), of bytes and of fields, and what its long runs found."""
import random
import tempfile
from pathlib import Path

import fuzz
from fuzzing import attempt
from tap import done, equal

FOUND = {1012134: "a Loop whose number of turns is no number"}

models = fuzz.seeds()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.onnx"
    for _i, model in enumerate(models):
        path.write_bytes(model)
        fuzz.reader.import_file(path, path.name)
    equal(len(models), 6, "the models are imported as long as they are whole")
    for damage, last, step, of in ((fuzz.damaged, 1000, 100, ""), (fuzz.damaged_fields, 2000, 500, " of fields")):
        for begin in range(1, last + 1, step):
            wrong = []
            for seed in range(begin, begin + step):
                path.write_bytes(damage(models, random.Random(seed)))
                if found := attempt(fuzz.reader.import_file, path):
                    wrong.append((seed, found))
            equal(wrong, [], f"seeds {begin} to {begin + step - 1}{of}: a model or one error")
    for seed, what in FOUND.items():
        path.write_bytes(fuzz.damaged(models, random.Random(seed)))
        equal(attempt(fuzz.reader.import_file, path), "", f"seed {seed}: {what}")
done()
