# SPDX-License-Identifier: Apache-2.0
"""Every primitive has the lowering that its entry in the table names, and no other; mistakes in the table."""
import tempfile
from pathlib import Path

from tap import done, equal, raises
from tensor_compile.graph.rules_algebra import RULES
from tensor_compile.graph.table import LOWERINGS, PRIMITIVES, code_of, cost_of, has_trait, lowering_of, read_table
from tensor_compile.loops import lower
from tensor_compile.loops.lower_contractions import CONTRACTIONS
from tensor_compile.loops.lower_reading import LEAVES, VIEWS
from tensor_compile.loops.lower_regions import REGIONS


def of(lowering: str) -> set[str]:
    return {name for name, p in PRIMITIVES.items() if p.lowering == lowering}


equal(set(LEAVES), of("leaf"), "leaves")
equal(set(VIEWS), of("view"), "views")
equal(set(CONTRACTIONS), of("contraction"), "contractions")
equal(set(REGIONS), of("region"), "regions")
equal(set(lower.LOWERINGS), of("kernel") | of("contraction") | of("region"), "all that is lowered by a function of its own")
equal(of("inlined"), {"call"}, "what never reaches lowering")
equal(set(LOWERINGS), {p.lowering for p in PRIMITIVES.values()}, "every kind has a primitive")
equal({p.name for p in PRIMITIVES.values() if p.elementwise != (p.cost > 0 and p.code > 0)}, set(), "costs of the elementwise alone")
equal(of("elementwise") - set(RULES), set(), "every elementwise primitive has rules")
equal((lowering_of("parameter"), lowering_of("pair"), cost_of("pair"), code_of("pair"), has_trait("pair", "again")),
      ("leaf", "", 1, 1, False), "what is no primitive")

good = (Path(__file__).resolve().parents[2] / "generator" / "primitives.def").read_text(encoding="utf-8")
for old, new, what in (("elementwise,  4,  4, computes", "pointwise,  4,  4, computes", "an unknown lowering"),
                       ('"narrow",', '"wide",', "an unknown trait"),
                       ("TC_PRIMITIVE(abs, ", "TC_PRIMITIVE(neg, ", "a name twice"),
                       ("elementwise, 12, 20,", "elementwise, 12,", "a column too few"),
                       ('"axis:int"', '"axis:number"', "an attribute of an unknown kind")):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "primitives.def"
        path.write_text(good.replace(old.replace("abs, ", "abs,"), new.replace("neg, ", "neg,"), 1), encoding="utf-8")
        assert path.read_text(encoding="utf-8") != good, old
        raises(ValueError, lambda: read_table(path), "primitives.def:", what)
done()
