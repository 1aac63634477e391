# SPDX-License-Identifier: Apache-2.0
"""What one build is asked for: the parsed command line, kept as data so that `tune` and `check` can repeat a build."""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from . import files
from .cache import Cache


@dataclass(frozen=True, slots=True)
class Options:
    """Paths are absolute but `shown`, the model as the user named it. specialize: by dim, replacing what the model
    declares. taps: regions whose results are outputs, too. Budgets are bytes, None unlimited. weights_file: where
    external weights are written. emit: "object", or "c": then `object` is the driver's source, beside the header and
    the other sources."""

    model: str
    shown: str
    object: str
    header: str
    cache: str
    programs: str = ""      # the cache of what all builds of a user share, "" the build's own
    named_outputs: tuple[str, ...] = ()  # object and header as the command line named them: what a depfile says
    depfile: str = ""
    compile_commands: str = ""
    weights_file: str = ""
    backend: str = "c"
    emit: str = "object"
    with_reference: bool = False
    target_file: str = ""
    isas: tuple[str, ...] = ()
    precision: str = "f32"
    optimize: str = "speed"
    specialize: tuple[tuple[str, tuple[int, ...]], ...] = ()
    taps: tuple[str, ...] = ()
    tune: str = "lock"
    lock: str = ""
    max_arena: int | None = None
    max_weights: int | None = None
    max_code: int | None = None
    max_stack: int | None = None
    weights: str = "embed"
    explain: str = ""
    dump_after: str = ""
    verify: bool = False
    keep: str = ""
    preprocessor: tuple[str, ...] = ()
    cc: tuple[str, ...] = ("cc",)
    host_cc: tuple[str, ...] = ("cc",)
    nvcc: tuple[str, ...] = ("nvcc",)
    cflags: tuple[str, ...] = ()
    capture_timeout: int = 30
    dims: tuple[str, ...] = ()     # how a model of another format is imported: --dim, --set, --qdq
    fixed: tuple[str, ...] = ()
    qdq: str = "floats"
    jobs: int | None = field(default=None, compare=False)

    def text(self) -> str:
        """Canonical JSON; what does not change a result (the number of jobs) is left out."""
        values = asdict(self)
        del values["jobs"]
        return json.dumps(values, sort_keys=True, indent=1)

    @staticmethod
    def parse(text: str) -> "Options":
        values = json.loads(text)
        known = {f.name for f in fields(Options)}
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known}
        values["specialize"] = tuple((name, tuple(sizes)) for name, sizes in values["specialize"])
        return Options(**values)

    def open_cache(self) -> Cache:
        return Cache(Path(self.cache), Path(self.programs) if self.programs else None)

    @property
    def lock_path(self) -> Path:
        """The tuning lock: beside the model unless named."""
        return Path(self.lock) if self.lock else Path(self.model).with_suffix(".tuning.lock")

    @property
    def digest(self) -> str:
        return files.digest(self.text())
