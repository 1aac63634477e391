# SPDX-License-Identifier: Apache-2.0
"""One build: options -> object, header, packed weights; and the shortcut where nothing has changed."""
from __future__ import annotations

import os
from pathlib import Path

from . import capture_run, compile_commands, depfile, files, imported, record, recording
from .host_programs import ROOT
from .options import Options
from .progress import Progress

TOOL = ("generator", "templates", "interpreter", "runtime/include", "runtime/core", "targets")


def build(options: Options) -> None:
    """Makes the outputs, or only renews their times where the last build still stands."""
    if options.compile_commands and not imported.is_foreign(options.model):
        compile_commands.update(Path(options.compile_commands), Path(options.cache), [options])
    tool = [path for part in TOOL for path in files.tree_files(ROOT / part)]
    lock = [options.lock_path] if os.path.exists(options.lock_path) else []
    if not options.keep and not options.dump_after:
        known = record.renew(options, [*tool, *lock])
        if known is not None:
            _write_depfile(options, known)
            return
    capture_run.require(Path(options.model), options.shown)
    inputs = record.Inputs(Path(options.cache))
    for path in (Path(options.model), *lock, *tool):
        inputs.digest(path)
    with Progress() as progress:
        captured = recording.record(options, progress, inputs)
        from . import assemble, python_module, sources  # the passes are loaded only where there is work for them

        made: assemble.Planned | assemble.Made
        if options.emit == "c":
            made = assemble.plan(options, progress, captured, inputs)
            outputs = sources.write(made, options)
        elif options.emit == "python":
            made = assemble.run(options, progress, captured, inputs)
            outputs = python_module.write(made, options)
        else:
            made = assemble.run(options, progress, captured, inputs)
            progress.say(f"{options.shown}: linking")
            outputs = assemble.write(made, options)
    weights = [] if imported.is_foreign(options.model) else made.weight_files   # those of an import lie in the cache
    named, folders = depfile.model_inputs(Path(options.model), made.captured.headers, weights, options.lock_path,
                                          made.target_file,
                                          tool)
    # A folder that outputs lie in is always as new as they are: it would never be up to date.
    folders = [f for f in folders if Path(f) not in {path.parent for path in outputs}]
    _write_depfile(options, named + folders)
    record.write(options, inputs, folders, outputs)


def _write_depfile(options: Options, inputs: list[str]) -> None:
    """Not among the recorded outputs: Ninja takes it away once it has read it."""
    if options.depfile:
        files.write(Path(options.depfile), depfile.text(options.named_outputs, inputs))
