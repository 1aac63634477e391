# SPDX-License-Identifier: Apache-2.0
"""The template engine: text in, text out, and its errors."""
from __future__ import annotations

from tap import done, equal, raises
from tensor_compile.emit.template import TemplateError, expand

for name, text, parameters, want in [
        ("names", "a ${x} ${y.z}\n", {"x": 1, "y": {"z": "b"}}, "a 1 b\n"),
        ("a loop", "%for r in rows\nc${r};\n%end\n", {"rows": [0, 1]}, "c0;\nc1;\n"),
        ("loops in loops", "%for r in rows\n%for v in regs\nc${r}_${v};\n%end\n%end\n", {"rows": [0, 1], "regs": "ab"},
         "c0_a;\nc0_b;\nc1_a;\nc1_b;\n"),
        ("an empty loop", "a\n%for r in rows\n${missing}\n%end\nb\n", {"rows": []}, "a\nb\n"),
        ("a condition", "%if x\n1\n%else\n2\n%end\n%if not x\n3\n%end\n", {"x": ""}, "2\n3\n"),
        ("a condition in a branch not taken", "%if x\n%if y\n1\n%else\n2\n%end\n%end\n3\n", {"x": 0}, "3\n"),
        ("several lines keep their indentation", "    ${body}\n", {"body": "a;\n    b;"}, "    a;\n        b;\n"),
        ("an empty value leaves no line", "a\n    ${body}\nb\n", {"body": ""}, "a\nb\n"),
        ("remarks", "%# nothing\na\n", {}, "a\n")]:
    equal(expand(text, parameters), want, name)
for name, text, message in [
        ("an unknown name", "a\n${x}\n", "line 2: unknown name 'x'"),
        ("an unknown field", "${y.q}\n", "'y.q' has no 'q'"),
        ("a loop without end", "%for r in y\n", "line 1: %for r in y has no %end"),
        ("an end without beginning", "a\n%end\n", "line 2: %end without a beginning"),
        ("an unknown directive", "%while x\n%end\n", "unknown directive: %while x")]:
    raises(TemplateError, lambda: expand(text, {"y": {}}), message, f"error: {name}")
done()
