# SPDX-License-Identifier: Apache-2.0
"""The search of `minify` on texts: what is left where a failure depends on one thing alone."""
import re

from tap import done, equal, ok
from tensor_compile.minify.reduce import Reducer
from tensor_compile.minify.source import printed, tokens

MODEL = """/* a comment */
#include <tensor_compile/model.h>
#define WIDTH 64 // of a layer
static tc_tensor block(tc_graph *g, tc_tensor x, const char *name)
{
    tc_tensor y = tc_layer_linear(g, x, name, .bias = {1, 2});
    return tc_relu(tc_erf(y));
}
TC_MODEL(net)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, WIDTH);
    for (int i = 0; i < 4; ++i) {
        TC_SCOPE(g, "layer.%d", i)
            x = block(g, x, "fc");
        x = tc_tanh(x);
    }
    tc_tensor p = tc_softmax(tc_add(x, 1), -1);
    tc_output(g, "p", p);
    tc_output(g, "q", tc_exp(p));
}
"""


def declared(text: str) -> bool:
    """What C asks for, about: brackets in pairs, variables that are set before they are used."""
    found = tokens(text)
    known = {"g", "x", "i"}
    for i, token in enumerate(found):
        if found[i - 1] in ("tc_tensor", "tc_dim", "int"):
            known.add(token)
        if token in ("p", "y", "batch") and token not in known:
            return False
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))


def reduced(text: str, *needed: str) -> str:
    """The smallest text with these words in this order."""
    pattern = re.compile(r".*\b".join(re.escape(word) for word in needed), re.S)
    kept: list[str] = []
    reducer = Reducer(text, lambda t: bool(pattern.search(t)) and declared(t), kept.append)
    reducer.run()
    equal(kept[-1], reducer.text, "the last text that was kept is the result")
    return reducer.text


OTHER = "int x = {1, 2};\nenum { A = 1 };\n#if 1\nfor (int i = 0; i < 3; ++i) f(a ? (b) : c[2]);\n#endif\n"
for text in (MODEL, OTHER):
    equal(tokens(printed(tokens(text))), tokens(text), "what is printed has the tokens of what was read")
ok("comment" not in printed(tokens(MODEL)), "comments are left out")
equal(reduced(MODEL, "TC_MODEL", "tc_output"), "TC_MODEL(net)\n{\n    tc_output(g);\n}\n", "one output")
equal(reduced(MODEL, "TC_MODEL", "tc_softmax", "tc_output"),
      'TC_MODEL(net)\n{\n    tc_tensor p = tc_softmax(x);\n    tc_output(g);\n}\n', "an operation and an output")
equal(reduced(MODEL, "TC_MODEL", "tc_tanh"), "TC_MODEL(net)\n{\n    x = tc_tanh(x);\n}\n", "a line out of a loop")
equal(reduced(MODEL, "tc_tensor block(", "tc_erf", "TC_MODEL", "block("),
      "static tc_tensor block(tc_graph *g)\n{\n    return tc_erf(x);\n}\nTC_MODEL(net)\n{\n    x = block(g);\n}\n",
      "an operation of a helper")
typed = Reducer('TC_MODEL(net)\n{\n    tc_tensor v = tc_erf(tc_tanh(a));\n    tc_output(g, "y", tc_exp(v));\n}\n',
                lambda t: "tc_output(g, " in t and "tc_exp(v" in t and ("tc_input" in t or "tc_tanh" in t),
                lambda t: None, lambda t: {3: "TC_F32, 4"})
typed.run()
ok("tc_tensor v = tc_input(" in typed.text and "tc_tanh" not in typed.text, "a value becomes an input of its type")
done()
