# SPDX-License-Identifier: Apache-2.0
"""Pages: the README has a screen a question, docs/README.md leads to every page, links lead somewhere, and
docs/architecture.md names files that exist."""
from __future__ import annotations

import os
import re
from pathlib import Path

from tap import done, equal

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
SCREEN = 42   # lines
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")),
         *sorted((ROOT / "examples").glob("*/README.md"))]


def plain(text: str) -> str:
    """Without what is between fences."""
    return re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", plain(text), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


readme = plain((ROOT / "README.md").read_text(encoding="utf-8"))
starts = [m.start() for m in re.finditer(r"^#", readme, re.M)] + [len(readme)]
sections = {readme[a:b].split("\n", 1)[0].strip("# "): readme[a:b].rstrip().count("\n") + 1
            for a, b in zip(starts, starts[1:])}
equal({title: lines for title, lines in sections.items() if lines > SCREEN}, {}, "README.md: a screen a question")

index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
missing = [p.name for p in sorted((ROOT / "docs").glob("*.md")) if p.name != "README.md" and f"({p.name}" not in index]
equal(missing, [], "docs/README.md leads to every page")
broken = []
for page in PAGES:
    for target in re.findall(r"\]\(([^)\s]+)\)", plain(page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if "://" not in target and (not found.exists() or anchor and found.suffix == ".md"
                                    and anchor not in anchors(found.read_text(encoding="utf-8"))):
            broken.append(f"{page.relative_to(ROOT)}: {target}")
equal(broken, [], "links lead somewhere")

# A name of the page is the end of a path, a folder's any part of one; * and <isa> stand for any characters.
TOP = ("autotune", "bench", "docs", "examples", "generator", "interpreter", "runtime", "targets", "templates", "tests")
KINDS = r"\.(c|cu\.in|cuh|def|h|hpp|inc?|md|build|py|sh|toml|txt)$|/$"
tree = "\n".join(f"/{path.relative_to(ROOT).as_posix()}" for path in [*ROOT.glob("*"), *(
    path for top in TOP for path in (ROOT / top).rglob("*"))] if path.is_file())
page = plain((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
names = [name for name in re.findall(r"`([^`\s]+)`", page) if re.search(KINDS, name)]
gone = [name for name in names if not re.search(
    "/" + re.escape(name).replace(r"\*", "[^/\n]*").replace("<isa>", "[^/\n]*") + ("" if name.endswith("/") else "$"),
    tree, re.M)]
equal((gone, len(names) > 300), ([], True), "docs/architecture.md names files that exist")
done()
