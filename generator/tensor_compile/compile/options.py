# SPDX-License-Identifier: Apache-2.0
"""What one build is asked for: the parsed command line, kept as data so that `tune` and `check` can repeat a build.

Options has a part for each reader. A stage says by its parameter which part it reads; it is given all of them."""
from __future__ import annotations

import json
from dataclasses import KW_ONLY, asdict, field, fields
from pathlib import Path

from ..records import dataclass
from .cache import Cache


@dataclass(frozen=True)
class Subject:
    """model: an absolute path; shown: the same as the user named it, for messages."""

    model: str
    shown: str


@dataclass(frozen=True)
class Outputs(Subject):
    """What is written, as absolute paths: `object` is the driver's source where sources are written. named_outputs:
    object and header as the command line named them, which is what a depfile says. weights: embed or external, then in
    weights_file."""

    object: str
    header: str
    _: KW_ONLY
    named_outputs: tuple[str, ...] = ()
    depfile: str = ""
    compile_commands: str = ""
    weights: str = "embed"
    weights_file: str = ""
    explain: str = ""


@dataclass(frozen=True)
class Work:
    """cache: what the build keeps; programs: what all builds of a user share, "" for the same folder. jobs: compilers
    at once, which change no result."""

    cache: str
    _: KW_ONLY
    programs: str = ""
    jobs: int | None = field(default=None, compare=False)

    def open_cache(self) -> Cache:
        return Cache(Path(self.cache), Path(self.programs) if self.programs else None)


@dataclass(frozen=True)
class Recording(Work, Subject):
    """How model.c is compiled and run on the build machine. dims, fixed, qdq: how a model of another format is
    imported. keep: a folder for what is generated."""

    _: KW_ONLY
    preprocessor: tuple[str, ...] = ()
    host_cc: tuple[str, ...] = ("cc",)
    capture_timeout: int = 30
    dims: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    qdq: str = "floats"
    keep: str = ""


@dataclass(frozen=True)
class Passes(Subject):
    """What the passes make. specialize: by dim, replacing what the model declares; taps: regions whose results are
    outputs, too. numerics: exact or relaxed. memory: fast or small. bake_values: for the values of these weights."""

    _: KW_ONLY
    backend: str = "c"
    with_reference: bool = False
    numerics: str = "exact"
    memory: str = "fast"
    bake_values: bool = False
    specialize: tuple[tuple[str, tuple[int, ...]], ...] = ()
    taps: tuple[str, ...] = ()
    dump_after: str = ""
    verify: bool = False


@dataclass(frozen=True)
class Machine(Work):
    """What is compiled for, and the compilers. emit: object, c or python."""

    _: KW_ONLY
    backend: str = "c"
    emit: str = "object"
    target_file: str = ""
    isas: tuple[str, ...] = ()
    integer_isas: tuple[str, ...] = ()   # of those that stand on `isas`, where these are named
    precision: str = "f32"
    optimize: str = "speed"
    cc: tuple[str, ...] = ("cc",)
    host_cc: tuple[str, ...] = ("cc",)
    nvcc: tuple[str, ...] = ("nvcc",)
    cflags: tuple[str, ...] = ()


@dataclass(frozen=True)
class TuningLock(Subject):
    """tune: lock, frozen or off. lock: "" for the one beside the model. cuda_libraries: auto or none: whether it may
    name cuBLASLt."""

    _: KW_ONLY
    tune: str = "lock"
    lock: str = ""
    cuda_libraries: str = "none"

    @property
    def lock_path(self) -> Path:
        return Path(self.lock) if self.lock else Path(self.model).with_suffix(".tuning.lock")


@dataclass(frozen=True)
class Budgets(Subject):
    """Bytes, None unlimited."""

    _: KW_ONLY
    max_arena: int | None = None
    max_weights: int | None = None
    max_code: int | None = None
    max_stack: int | None = None
    runtime: str = "core"


@dataclass(frozen=True)
class Options(Recording, Machine, Passes, TuningLock, Budgets, Work, Outputs, Subject):
    """All of a build."""

    @property
    def tunes_lines(self) -> bool:
        """Whether `tune` measures orders, fusions and blocks. Where memory or code is to be small it does not: what
        they take is not known before."""
        return self.memory != "small" and self.optimize != "size" and self.max_arena is None

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
