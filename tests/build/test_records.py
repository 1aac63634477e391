# SPDX-License-Identifier: Apache-2.0
"""Data classes of the generator's own (records.py) do what those of the standard library do."""
import copy
import dataclasses
import pickle
import sys
from dataclasses import KW_ONLY, FrozenInstanceError, asdict, field, fields, replace
from typing import Any, Callable, ClassVar

from tap import done, equal, ok
from tensor_compile import records


def classes(dataclass: Callable[..., Any]) -> dict[str, Any]:
    """The same classes by one or the other maker."""
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, compare=False)
        shared: ClassVar[int] = 7

        @property
        def sum(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True, slots=True)
    class Named(Point):
        """With a documentation."""

        _: KW_ONLY
        name: str = "none"
        hidden: int = field(default=3, repr=False, hash=False)

    @dataclass(slots=True)
    class Open:
        a: Any
        b: dict[str, int] = field(default_factory=dict)
        c: int = field(init=False, default=5)
        d: list[int] = field(init=False, default_factory=lambda: [1])

    @dataclass(slots=True, eq=False)
    class Same:
        a: int

    @dataclass(frozen=True, slots=True)
    class Own:
        a: int
        b: int = 0

        def __post_init__(self) -> None:
            object.__setattr__(self, "b", self.a + 1)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.a % 2 == other.a % 2

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class Loose:
        a: int = 1

        def __hash__(self) -> int:
            return 4711

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return {name: made for name, made in locals().items() if isinstance(made, type)}


def outcome(call: Callable[[], object]) -> str:
    try:
        return str(call())
    except (TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def put(x: Any, name: str) -> str:
    setattr(x, name, 9)
    return repr(x)


MADE = [("Point", (1,), {}), ("Point", (1, 3), {"tags": ["a"]}), ("Point", (1, 4), {}), ("Named", (1,), {"name": "n"}),
        ("Named", (1, 2, []), {"hidden": 8}), ("Open", (1,), {}), ("Open", ([2], {"k": 1}), {}), ("Same", (1,), {}),
        ("Own", (1,), {}), ("Own", (3,), {"b": 9}), ("Loose", (), {}), ("Loose", (2,), {}), ("Empty", (), {})]
WRONG = [("Point", (), {}), ("Point", (1, 2, [], 4), {}), ("Point", (1,), {"z": 1}), ("Named", (1, 2, [], "n"), {}),
         ("Open", (1,), {"c": 2})]
told = []
for maker in (dataclasses.dataclass, records.dataclass):
    found = classes(maker)
    objects = [found[name](*words, **named) for name, words, named in MADE]
    for made in found.values():   # where pickle looks for them
        made.__qualname__ = made.__name__
        setattr(sys.modules[__name__], made.__name__, made)
    told.append({
        "representations": [repr(x) for x in objects],
        "fields": [(made.__name__, [f.name for f in fields(made)], getattr(made, "__slots__", None), made.__match_args__)
                   for made in found.values()],
        "equality": [[a == b for b in objects] for a in objects],
        "hashes": [outcome(lambda: hash(x) if type(x).__name__ != "Same" else "by identity") for x in objects],
        "mistakes": [outcome(lambda: found[name](*words, **named)).replace("classes.<locals>.", "")
                     for name, words, named in WRONG],
        "assignments": [outcome(lambda: put(x, f.name)) for x in objects for f in fields(x)],
        "deletions": [outcome(lambda: delattr(x, "a")) for x in objects[-3:-1]],
        "replacements": [repr(replace(x)) for x in objects],
        "dictionaries": [asdict(x) for x in objects],
        "copies": [repr(copy.copy(x)) for x in objects],
        "pickles": [repr(pickle.loads(pickle.dumps(x))) for x in objects],
        "sums": [x.sum for x in objects if hasattr(x, "sum")],
    })
for what in told[0]:
    equal(told[1][what], told[0][what], f"{what}, as of dataclasses.dataclass")
ok(isinstance(FrozenInstanceError("x"), AttributeError) and any("cannot assign to field" in x
                                                               for x in told[1]["assignments"]), "frozen ones refuse")
done()
