# SPDX-License-Identifier: Apache-2.0
"""One build: options -> object, header, packed weights; and the shortcut where nothing has changed."""
from __future__ import annotations

from pathlib import Path

from . import compile_commands, depfile, files, imported, record
from .host_programs import ROOT
from .options import Options
from .progress import Progress

TOOL = ("generator", "templates", "interpreter", "runtime/include", "runtime/core", "targets")


def build(options: Options) -> None:
    """Makes the outputs, or only renews their times where the last build still stands."""
    if options.compile_commands and not imported.is_foreign(options.model):
        compile_commands.update(Path(options.compile_commands), Path(options.cache), [options])
    tool = [path for part in TOOL for path in files.tree_files(ROOT / part)]
    lock = options.lock_path
    if not options.keep and not options.dump_after:
        inputs = record.renew(options, [*tool, lock] if lock.exists() else tool)
        if inputs is not None:
            _write_depfile(options, inputs)
            return
    from . import assemble, sources  # the passes are imported only where there is work for them

    with Progress() as progress:
        made: assemble.Planned | assemble.Made
        if options.emit == "c":
            made = assemble.plan(options, progress)
            outputs = sources.write(made, options)
        else:
            made = assemble.run(options, progress)
            progress.say(f"{options.shown}: linking")
            outputs = assemble.write(made, options)
    weights = [] if imported.is_foreign(options.model) else made.weight_files   # those of an import lie in the cache
    inputs = depfile.model_inputs(Path(options.model), made.headers, weights, lock, made.target_file, tool)
    if Path(options.object).parent == lock.parent:
        inputs.remove(str(lock.parent))  # the outputs lie in it: it is always as new as they are
    _write_depfile(options, inputs)
    record.write(options, map(Path, inputs), outputs)


def _write_depfile(options: Options, inputs: list[str]) -> None:
    """Not among the recorded outputs: Ninja takes it away once it has read it."""
    if options.depfile:
        files.write(Path(options.depfile), depfile.text(options.named_outputs, inputs))
