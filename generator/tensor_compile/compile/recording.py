# SPDX-License-Identifier: Apache-2.0
"""The first stage of a build: the model's graph as text. It needs no pass and no target, so that an error in a model is
said before these are loaded."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from . import capture_run, host_programs, imported, toolchain
from .cache import Cache
from .options import Options, Recording
from .progress import Progress
from .record import Inputs


def host_compiler(command: tuple[str, ...], cache: Cache) -> toolchain.Compiler:
    return toolchain.detect(command, cache.programs.root, "the compiler for the build machine")


def record(options: Options, progress: Progress, inputs: Inputs | None = None) -> capture_run.Captured:
    """As `capture`; what it needs is compiled where the cache has none."""
    cache = options.open_cache()
    capture_run.require(Path(options.model), options.shown)  # before anything is compiled for it
    host = host_compiler(options.host_cc, cache)
    progress.say(f"{options.shown}: recording the graph")
    host_programs.capture_library(host, cache, options.jobs)
    return capture(options, host, cache, inputs)


def capture(recording: Recording, host: toolchain.Compiler, cache: Cache, inputs: Inputs | None = None
            ) -> capture_run.Captured:
    """Records the model; one of another format is imported in the cache before. inputs: what is read is noted there."""
    found = imported.in_cache(recording, cache,
                              inputs or Inputs(cache.root)) if imported.is_foreign(recording.model) else None
    captured = capture_run.run(found.model if found else Path(recording.model), recording.shown, recording.preprocessor,
                               host, cache, recording.capture_timeout, recording.jobs,
                               keep=Path(recording.keep) if recording.keep else None, inputs=None if found else inputs)
    return replace(captured, headers=found.sources) if found else captured
