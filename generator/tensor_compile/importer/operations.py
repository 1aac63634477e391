# SPDX-License-Identifier: Apache-2.0
"""The tables of operations: a front end has a module a topic, ops_TOPIC.py, whose functions register themselves."""
from __future__ import annotations

from importlib import import_module
from pathlib import Path


def import_topics(registry: str, package: str) -> None:
    """Imports the modules beside a registry, given as its file, and so fills its table."""
    for path in sorted(Path(registry).parent.glob("ops_*.py")):
        import_module(f".{path.stem}", package)
