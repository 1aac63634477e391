# SPDX-License-Identifier: Apache-2.0
"""`explain --summary` and `explain --html`: the page is whole and holds together, and, where Chromium is installed,
opens what a link names, fits a phone and can be printed."""
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import models
from tap import done, equal, note, ok, skip

VOID = {"meta"}


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.remote: list[str] = []
        self.feed(text)
        self.wrong += self.open

    def handle_starttag(self, tag: str, attributes: list) -> None:
        found = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"][1:]] if found.get("href", "").startswith("#") else []
        self.remote += [v for k, v in attributes if k in ("src", "href") and v and not v.startswith("#")]

    def handle_startendtag(self, tag: str, attributes: list) -> None:
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    models.encoder(folder)
    isa = ("--isa", "avx2") if models.X86 else ()
    result = models.tool(folder, "explain", "encoder.c", *isa, "--summary", "--html", "page.html")
    equal((result.returncode, result.stderr), (0, ""), "summary and page")
    for part in (r"^encoder\.c: encoder for ", r"^  code .*, weights .*, arena at most ",
                 r"^  code for speed, by instruction set: \w+ [\d.]+ \w+",
                 r"^  less code: --optimize size \(typically ",
                 r" kernels, .* operations, .* moved, on one core at least .* of arithmetic, .* if all bytes ",
                 r"^ +\d+\.\d %  .*linear.*  \(encoder\.c:\d+\)$", "^  largest tensors in the arena:$",
                 "^  not fused, what moves most first:$",
                 r"^by scope:"):
        ok(re.search(part, result.stdout, re.M), f"the summary has {part}") or note(result.stdout)
    ok(len(result.stdout.splitlines()) < 60, "and is a screen")
    text = (folder / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    equal(page.wrong, [], "every element is closed")
    equal(len(page.ids), len(set(page.ids)), "every id is one")
    equal(sorted(set(page.links) - set(page.ids)), [], "every link leads somewhere")
    equal(page.remote, [], "nothing is loaded from elsewhere")
    ok("<mark>" in text and "tc_softmax" in text or "tc_" in text, "the model's lines are there")
    for heading in ("Graph", "Kernels", "Roofline", "Memory", "Fusion", "Schedules"):
        ok(f"<h3>{heading}</h3>" in text, f"{heading} is there")
    special = (*isa, "--specialize", "batch=2", "--specialize", "length=5")
    fixed, generic = "batch2_length5 (batch == 2 and length == 5)", "generic (all other sizes)"
    for at, shown, name, other in (((), "batch=2, length=5", "batch2_length5", generic),
                                   (("--at", "length=5"), "batch=2, length=5", "batch2_length5", generic),
                                   (("--at", "batch=3"), "batch=3, length=1", "generic", fixed)):
        result = models.tool(folder, "explain", "encoder.c", *special, "--summary", "--html", "special.html", *at)
        said = " ".join(("a specialized model", *at))
        ranges = shown if name != "generic" else "batch=3 of 1 to 8, length=1 of 1 to 33"
        others = "; --at DIM=SIZE,… shows others" if name == "generic" else ""
        equal(re.findall(r"^encoder at (.*?): ", result.stdout, re.M), [f"{ranges} (variant {name}{others})"],
              f"{said}: the summary's variant") or note(result.stdout + result.stderr)
        ok(re.search(r": \d+ kernels, .*, arena (at most )?[\d.]+ \S+$", result.stdout, re.M), f"{said}: its own arena")
        ok(f"\n  not shown: {other}; --at DIM=SIZE,… chooses\n" in result.stdout, f"{said}: {other} is not shown")
        ok(f"<b>{name}</b> at {shown}" in (folder / "special.html").read_text("utf-8"), f"{said}: the page's variant")
    result = models.tool(folder, "explain", "encoder.c", *isa, "--specialize", "batch=2,4", "--summary", "--html",
                         "special.html", "--at", "length=7")
    equal(re.findall(r"^encoder at (.*?): ", result.stdout, re.M),
          [f"batch={n}, length=7 of 1 to 33 (variant batch{n}; --at DIM=SIZE,… shows others)" for n in (2, 4)],
          "all that were asked for")
    two = Page((folder / "special.html").read_text(encoding="utf-8"))
    equal((two.wrong, len(two.ids)), ([], len(set(two.ids))), "a page of two variants: every id is one")
    equal(sorted(set(two.links) - set(two.ids)), [], "and every link leads somewhere")
    result = models.tool(folder, "explain", "encoder.c", *isa, "--html", "page.html", "--at", "size=3")
    ok(result.returncode == 2 and "the model has no dim 'size'" in result.stderr, "--at of a dim that is not there")

    browser = shutil.which("chromium")
    if browser is None:
        skip("the page in a browser", "chromium is not installed")
    else:
        def loaded(width: int, fragment: str = "") -> str:
            probe = ("<script>document.title = [document.documentElement.scrollWidth, innerWidth, "
                     "document.querySelectorAll('details[open]').length, document.activeElement.tagName].join(' "
                     "')</script>")
            (folder / "probe.html").write_text(text.replace("</body>", probe + "</body>"), encoding="utf-8")
            dumped = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu",
                                     f"--window-size={width},900", "--dump-dom",
                                     f"file://{folder}/probe.html{fragment}"], capture_output=True, text=True,
                                     timeout=120, check=False).stdout
            found = re.search("<title>(.*?)</title>", dumped)
            return found[1] if found else ""

        desktop, phone = loaded(1280), loaded(500, "#f0k1")
        ok(desktop.split()[2:3] == ["0"], "kernels are closed at first") or note(desktop)
        words = phone.split()
        ok(len(words) == 4 and int(words[0]) <= int(words[1]),
           "a narrow window does not scroll sideways") or note(phone)
        equal(words[2:], ["1", "SUMMARY"], "a link opens its kernel and puts the keyboard there")
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={folder}/page.pdf",
                        f"file://{folder}/page.html"],
                       capture_output=True, timeout=120, check=False)
        ok((folder / "page.pdf").is_file() and (folder / "page.pdf").read_bytes()[:4] == b"%PDF", "it can be printed")
done()
