# SPDX-License-Identifier: Apache-2.0
"""Some thousand damaged models end in an import or in one error (fuzz.py)."""
import random
import tempfile
from pathlib import Path

import fuzz
from fuzzing import attempt
from tap import done, equal, ok

TRIES = 1500

models = fuzz.seeds()
ok(len(models) > 90, "models to damage")
found = []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.tflite"
    for seed in range(TRIES):
        path.write_bytes(fuzz.damaged(models, random.Random(seed)))
        wrong = attempt(fuzz.reader.import_file, path)
        if wrong:
            found.append(f"seed {seed}: {wrong}")
equal(found, [], f"{TRIES} damaged models")
done()
