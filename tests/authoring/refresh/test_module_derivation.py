"""One module that was edited: what is the same program, and which operations and patches give another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npu_overlays.authoring.refresh.attempt import DerivedModule, EditedModule
from npu_overlays.authoring.refresh.equivalence import same_program
from npu_overlays.authoring.refresh.module_derivation import derive
from npu_overlays.authoring.writer.merge_module_text import OperationChange, rewritten
from npu_overlays.merge.module_merge import merge
from npu_overlays.model.module import Module
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Reason

PATH = "lib/m.py"
UPSTREAM = """\
import os
import sys
from enum import Enum, auto
import lib.one as one
import lib.two as two

LIMIT = 1
TABLE = {"a": 1}


class Color(Enum):
    RED = auto()
    BLUE = auto()


class Plain:
    speed = 1

    def go(self):
        return 1


TABLE.update(b=2)


@os.fspath
def f(a):
    return a
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import os\nimport sys\n", "import sys\nimport os\n"),
        ("import os\n", "import os\nimport json\n"),
        ("LIMIT = 1\n", "LIMIT = 1\nNEW = 2\n"),
        ("    speed = 1\n", "    more = 2\n    speed = 1\n"),
        ("    def go(self):\n", "    def come(self): ...\n\n    def go(self):\n"),
        ("class Plain:\n", "def new(): return TABLE\n\n\nclass Plain:\n"),
    ],
)
def test_where_an_addition_or_an_import_stands_makes_no_difference(old: str, new: str) -> None:
    wanted = UPSTREAM.replace(old, new)
    added = "".join(line for line in new.splitlines(keepends=True) if line not in old)
    owner = "\n\nTABLE.update" if added.startswith("    ") else ""
    elsewhere = UPSTREAM.replace(owner, f"\n{added}{owner}") if owner else f"{UPSTREAM}{added}"
    assert _same(wanted, elsewhere if added else UPSTREAM)
    assert not added or not _same(wanted, UPSTREAM)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Values of an enumeration count by their order, as fields of a dataclass do.
        (
            "    RED = auto()\n    GREEN = auto()\n    BLUE = auto()\n",
            "    RED = auto()\n    BLUE = auto()\n    GREEN = auto()\n",
        ),
        # What is read here is changed below.
        ('TABLE = {"a": 1}\nSIZE = len(TABLE)\n', 'TABLE = {"a": 1}\n@SIZE = len(TABLE)\n'),
        ("LIMIT = 1\nLIMIT_2 = LIMIT\n", "LIMIT_2 = LIMIT\nLIMIT = 1\n"),
        ("LIMIT = 1\nA = 1\nB = A\n", "LIMIT = 1\nB = A\nA = 1\n"),
        ("LIMIT = 1\nA = 1\nA += 1\nA *= 3\n", "LIMIT = 1\nA = 1\nA *= 3\nA += 1\n"),
        # The later import is what the name means; and one that stood at the end stood there for a reason.
        ("import sys\nfrom a import x\nfrom b import x\n", "import sys\nfrom b import x\nfrom a import x\n"),
        ("import sys\n", "@import sys\n"),
        ("import lib.two as two\n", "@import lib.two as two\n"),
        # Modules may go by what was imported, or set, before them; Python's own do not.
        ("import lib.one as one\nimport lib.two as two\n", "import lib.two as two\nimport lib.one as one\n"),
        (
            "import sys\nos.environ['A'] = ''\nfrom lib import c\n",
            "import sys\nfrom lib import c\nos.environ['A'] = ''\n",
        ),
        ("import sys\nNAMES = dir()\n", "import sys\n@NAMES = dir()\n"),
    ],
)
def test_where_it_makes_a_difference_it_is_another_program(one: str, other: str) -> None:
    def module(text: str) -> str:
        at_the_end = "".join(line[1:] for line in text.splitlines(keepends=True) if line.startswith("@"))
        here = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("@"))
        first, last = one.splitlines(keepends=True)[0], one.splitlines(keepends=True)[-1]
        replaced = f"{first}    BLUE = auto()\n" if "BLUE" in last else first
        assert replaced in UPSTREAM
        return UPSTREAM.replace(replaced, here) + at_the_end

    assert module(one) != module(other)
    assert not _same(module(one), module(other))


REGISTRY = "RULES = []\n\ndef rule(f):\n    RULES.append(f)\n    return f\n\n"
GENERAL, SPECIAL = "@rule\ndef general(x):\n    return True\n\n", "@rule\ndef special(x):\n    return x == 1\n\n"
HARMLESS = "from functools import cache\n\n@cache\ndef f(): ...\n", "@cache\ndef g(): ...\n"
FIELDS = "class Field: ...\n\nclass Model:\n    first = Field()\n", "    between = Field()\n", "    last = Field()\n"


def test_what_registers_something_counts_by_its_place() -> None:
    known = Module(PATH, f"{REGISTRY}{GENERAL}".encode()).definitions.keys()
    one, other = f"{REGISTRY}{SPECIAL}{GENERAL}".encode(), f"{REGISTRY}{GENERAL}{SPECIAL}".encode()
    assert not same_program(one, other, known)
    upstream, new = HARMLESS
    head, rest = upstream.split("\n\n")
    known = Module(PATH, upstream.encode()).definitions.keys()
    assert same_program(f"{upstream}{new}".encode(), f"{head}\n\n{new}{rest}".encode(), known)


def test_values_that_a_class_calls_for_count_by_their_places() -> None:
    first, between, last = FIELDS
    known = Module(PATH, f"{first}{last}".encode()).definitions.keys()
    assert not same_program(f"{first}{between}{last}".encode(), f"{first}{last}{between}".encode(), known)
    plain = [text.replace("Field()", "1") for text in FIELDS]
    assert same_program("".join(plain).encode(), "".join([plain[0], *plain[:0:-1]]).encode(), known)


def test_an_import_on_a_condition_is_nothing_that_modules_go_by() -> None:
    before, new = "try:\n    import x\nexcept ImportError:\n    x = None\n", "from lib import c\n"
    known = Module(PATH, before.encode()).definitions.keys()
    assert same_program(f"{before}{new}".encode(), f"{new}{before}".encode(), known)
    assert not same_program(f"{before}x()\n{new}".encode(), f"{new}{before}x()\n".encode(), known)


OVERLAY = """\
from npu_overlays.markers import added, replaced, upstream, wrapped

LIMIT = replaced(5, why="Five.")


@wrapped(why="Twice.")
def f(a):
    return upstream(upstream(a))


@added(why="New.")
def fresh(a):
    return a
"""


def test_what_operations_cannot_say_becomes_a_patch_and_every_operation_stays() -> None:
    found = _derived("    RED = auto()\n", "    RED = auto()\n    GREEN = auto()\n")
    assert [one.symbol for one in found.changes] == []
    assert found.before is not None
    assert b"GREEN" in found.before
    assert b"LIMIT = 1" in found.before
    found = _derived('TABLE = {"a": 1}\n', 'ONE = 1\nTABLE = {"a": ONE}\n')
    assert [one for one in found.changes if one.known] == []
    assert found.before is None or b"LIMIT = 1" in found.before


def test_one_operation_goes_where_a_statement_stands_in_what_it_puts_there() -> None:
    found = _derived("def fresh(a):\n    return a\n", "def fresh(a):\n    return a\n\n\nfresh.known = True\n")
    assert [(one.symbol, one.wanted) for one in found.changes if one.known] == [("fresh", None)]
    assert [one.symbol for one in found.given_up] == ["fresh"]
    assert found.before is not None
    assert b"_upstream_f" not in found.before


TWO = OVERLAY.replace("return a\n", 'return a\n\n\n@added(why="More.")\ndef more(a):\n    return fresh(a)\n', 1)


def test_as_few_operations_go_as_can_for_a_statement_that_reads_what_they_put_there() -> None:
    end = TWO.rpartition("\n\n\n")[2].partition("\n")[2]
    found = _derived(end, f"{end}\n\nif LIMIT:\n    more(3)\n", TWO)
    assert [one.symbol for one in found.given_up] == ["fresh", "more"]
    assert {one.symbol for one in found.changes if one.known} == {"fresh", "more"}
    assert found.before is not None
    assert b"LIMIT = 1" in found.before


def test_a_statement_behind_what_operations_put_there_goes_to_the_nearest_text_of_upstreams() -> None:
    found = _derived("def fresh(a):\n    return a\n", "def fresh(a):\n    return a\n\n\nif LIMIT:\n    os.getcwd()\n")
    assert (found.changes, found.given_up) == ((), ())
    assert found.before is not None
    assert found.before.endswith(b"def f(a):\n    return a\n\n\nif LIMIT:\n    os.getcwd()\n")


IMPORTING = """\
from lib.a import mx
from npu_overlays.markers import added, replaced

LIMIT = replaced(mx(5), why="Five.")
MORE = added(mx(6), why="Six.")
"""


def test_an_import_that_is_exchanged_is_exchanged_in_every_operation_that_needs_it() -> None:
    found = _derived("from lib.a import mx\n", "from lib.b import mx\n", IMPORTING)
    assert (found.before, found.given_up) == (None, ())
    assert [(one.symbol, one.wanted and one.wanted.imports[0].statement) for one in found.changes] == [
        ("LIMIT", "from lib.b import mx"),
        ("MORE", "from lib.b import mx"),
    ]
    assert [one.wanted.text for one in found.changes if one.wanted] == ["mx(5)", "mx(6)"]


def test_an_import_of_upstreams_that_is_exchanged_is_exchanged_in_what_needs_it_too() -> None:
    overlay = IMPORTING.replace("from lib.a import mx", "import lib.two as two").replace("mx", "two.mx")
    found = _derived("import lib.two as two\n", "import lib.three as two\n", overlay)
    assert found.before is not None
    assert b"import lib.three as two" in found.before
    assert [one.wanted and one.wanted.imports[0].statement for one in found.changes] == ["import lib.three as two"] * 2


def test_an_operation_on_a_member_goes_with_its_class() -> None:
    member = 'class Plain:\n    @edited(("1", "2"), why="w")\n    def go(self): ...\n'
    overlay = f"from npu_overlays.markers import edited\n\n\n{member}"
    start, end = UPSTREAM.index("class Plain"), UPSTREAM.index("TABLE.update")
    found = _derived(UPSTREAM[start:end].replace("return 1", "return 2"), "", overlay)
    assert [(one.symbol, one.wanted and one.wanted.action) for one in found.changes] == [
        ("Plain", "deleted"),
        ("Plain.go", None),
    ]
    assert (found.before, found.given_up) == (None, ())


MEMBERS = """\
from npu_overlays.markers import added, deleted, upstream, wrapped


class Plain:
    @wrapped(why="Go.")
    def go(self):
        return upstream(self) + 1

    @added(why="Stop.")
    def stop(self):
        return 2


deleted("Plain.speed", why="Speed.")
deleted("LIMIT", why="None.")
"""
STOP = "    def stop(self):\n        return 2\n"


def test_operations_on_members_do_not_go_unsaid_with_a_class_that_stands_under_another_name() -> None:
    found = _derived("class Plain:\n", "class Simple(Enum):\n", MEMBERS)
    assert [one.symbol for one in found.given_up] == ["Plain.go", "Plain.stop", "Plain.speed"]
    assert [(one.symbol, one.wanted) for one in found.changes] == [(one.symbol, None) for one in found.given_up]
    assert found.before is not None
    assert b"class Simple(Enum):\n\n    def go(self):\n        return __class__._upstream_go(self) + 1" in found.before
    assert b"LIMIT = 1" in found.before


def test_an_operation_on_a_member_goes_not_unsaid_where_its_text_stands_elsewhere() -> None:
    gone = "class Plain:\n\n    def go(self):\n        return __class__._upstream_go(self) + 1\n\n"
    gone += f"    def _upstream_go(self):\n        return 1\n\n{STOP}"
    other = (
        "class Other:\n    a = 1\n    b = 2\n\n    def c(self): ...\n\n    def d(self): ...\n\n    def e(self): ...\n\n"
    )
    found = _derived(gone, f"{other}{STOP}", MEMBERS)
    assert [one.symbol for one in found.given_up] == ["Plain.stop"]
    assert {one.symbol for one in found.changes if one.known} == {"Plain.go", "Plain.stop", "Plain.speed"}


ADDED = f"""\
from npu_overlays.markers import added


class Plain:
    @added(why="Stop.")
{STOP}

@added(why="New.")
def fresh(a):
    return a
"""


@pytest.mark.parametrize(
    ("old", "new", "symbols"),
    [
        ("def fresh(a):\n    return a\n", "", [("fresh", None)]),
        ("def fresh(a):\n", "def other(a):\n", [("other", "added"), ("fresh", None)]),
        (STOP, "", [("Plain.stop", None)]),
        (STOP, STOP.replace("stop", "halt"), [("Plain.halt", "added"), ("Plain.stop", None)]),
    ],
)
def test_an_addition_goes_and_gets_another_name(old: str, new: str, symbols: list[tuple[str, str | None]]) -> None:
    found = _derived(old, new, ADDED)
    assert [(one.symbol, one.wanted and one.wanted.action) for one in found.changes] == symbols
    assert (found.before, found.given_up) == (None, ())


def test_an_original_that_is_changed_beside_its_wrapper_is_a_function_of_its_own() -> None:
    found = _derived("def _upstream_f(a):\n    return a\n", "def _upstream_f(a):\n    return a + 1\n")
    said = {one.symbol: one.wanted.action for one in found.changes if one.wanted}
    assert said == {"f": "edited", "_upstream_f": "added"}
    assert found.before is None
    (known,) = (one.known for one in found.changes if one.known)
    assert known.reason.why == "Twice."


def test_an_original_under_the_decorator_that_notes_its_code_is_a_wrapped_one() -> None:
    upstream = "def noted(f):\n    print(f.__code__)\n    return f\n\n\n@noted\ndef g(x):\n    return x\n"
    wrapper = "@noted\ndef g(x):\n    return -_upstream_g(x)\n\n\n@noted\ndef _upstream_g(x):\n"
    found = _of_upstream(upstream, upstream.replace("@noted\ndef g(x):\n", wrapper))
    assert [(one.symbol, one.wanted.action) for one in found.changes if one.wanted] == [("g", "wrapped")]
    assert found.before is None


HOOKS = """\
\"\"\"Hooks.\"\"\"

import os

from lib import other


def hook(a):
    return a


other.Thing.go = hook
"""


def test_a_module_of_which_nothing_is_wanted_is_emptied() -> None:
    found = _of_upstream(HOOKS, '"""Hooks."""\n\n# Nothing is left.\n')
    assert [(one.symbol, one.wanted.action) for one in found.changes if one.wanted] == [("*", "deleted")]
    assert found.before is None
    # Its docstring is nothing that an operation takes away.
    found = _of_upstream(HOOKS, "")
    assert (found.changes, found.before) == ((), b"")


def test_what_goes_with_its_members_is_said_in_one_way() -> None:
    """The import could be deleted; what stands on it only a patch says, and of two each would undo the other."""
    wanted = HOOKS.replace("\nfrom lib import other\n", "").replace("other.Thing.go = hook\n", "")
    found = _of_upstream(HOOKS, wanted)
    assert found.changes == ()
    assert found.before == wanted.encode()


@pytest.mark.parametrize("bound", ["LIMIT = MORE = 1", "LIMIT, MORE = 1, 2", "LIMIT = 1\nMORE = LEAST = 0"])
def test_a_name_that_comes_with_another_is_patched(bound: str) -> None:
    """No operation says it by itself, and what an operation does beside what it says, a build refuses."""
    wanted = UPSTREAM.replace("LIMIT = 1", bound).replace("return a", "return a + 1")
    found = _of_upstream(UPSTREAM, wanted)
    assert found.before is not None
    assert "MORE" in found.before.decode()
    assert all("MORE" not in (one.wanted.text if one.wanted else "") for one in found.changes)


def test_a_comment_beside_a_change_is_no_operation() -> None:
    wanted = UPSTREAM.replace("return 1\n", "return 1  # one\n").replace("return a", "return a + 1")
    found = _of_upstream(UPSTREAM, wanted)
    assert [one.symbol for one in found.changes] == ["f"]
    assert found.before is None


SEVERAL = """\
class A:
    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, new):
        self._size = new

    @size.deleter
    def size(self):
        del self._size


if os.name == "nt":
    def f(x):
        return x + 1
else:
    def f(x):
        return x + 2


@f.register
def _(x: int):
    return x


@f.register(str)
def _(x):
    return x
"""
SETTER = "    @size.setter\n    def size(self, new):\n        self._size = new\n"
WRAPPED = """\
    @size.setter
    def size(self, new):
        __class__._upstream_size_setter(self, 0)

    def _upstream_size_setter(self, new):
        self._size = new
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("= new\n", "= new + 1\n", '@edited(("= new", "= new + 1"), why="", where="@size.setter")'),
        ("    @size.deleter\n    def size(self):\n        del self._size\n", "", 'deleted("size", why="", where='),
        (
            SETTER,
            WRAPPED,
            '@wrapped(why="", where="@size.setter")\n    def size(self, new):\n        upstream(self, 0)\n',
        ),
        ("return x + 2", "return x + 3", '@edited(("x + 2", "x + 3"), why="", where="else")'),
        ("(x):\n    return x\n", "(x):\n    return -x\n", 'why="", where="@f.register(str)")'),
        ("(x: int):\n    return x\n", "(x: int):\n    return -x\n", 'where="@f.register")'),
    ],
)
def test_what_changes_in_one_of_several_definitions_is_an_operation_on_that(old: str, new: str, said: str) -> None:
    wanted = SEVERAL.replace(old, new)
    found = derive(
        EditedModule(path=PATH, upstream=SEVERAL.encode(), operations=(), now=SEVERAL.encode(), wanted=wanted.encode())
    )
    assert found.before is None
    (operation,) = (one.wanted for one in found.changes if one.wanted)
    content = b"from npu_overlays.markers import deleted, edited, replaced, upstream, wrapped\n"
    content = (
        rewritten("o", content, [OperationChange(known=None, wanted=replace(operation, reason=Reason(why="w")))], [])
        or b""
    )
    assert said.replace('why=""', 'why="w"') in content.decode()
    compile(content, "o", "exec")
    operations = read_operations("o", content, layer="o", target=PATH)
    assert merge(PATH, SEVERAL.encode(), operations, distribution="")[0] == wanted.encode()


def test_an_operation_on_one_of_several_changes_where_it_is_written() -> None:
    overlay = """
class A:
    size = property()

    # Why half.
    @wrapped(why="Half.")
    @size.setter
    def size(self, new):
        upstream(self, new / 2)


@edited(("+ 1", "+ 5"), why="Five.", where="#1")
def f(x): ...
"""
    content = f"from npu_overlays.markers import edited, upstream, wrapped\n{overlay}".encode()
    operations = read_operations("o/tree/m.py", content, layer="o", target=PATH)
    now = merge(PATH, SEVERAL.encode(), operations, distribution="")[0]
    wanted = now.replace(b"new / 2", b"new / 3").replace(b"x + 5", b"x + 6")
    found = derive(EditedModule(path=PATH, upstream=SEVERAL.encode(), operations=operations, now=now, wanted=wanted))
    changes = [one for one in found.changes if one.known]
    assert [one.symbol for one in changes] == ["A.size[@size.setter]", "f[#1]"]
    expected = content.replace(b"new / 2", b"new / 3").replace(b'"+ 1", "+ 5"', b'"x + 1", "x + 6"')
    assert rewritten("o/tree/m.py", content, changes, []) == expected


def _of_upstream(upstream: str, wanted: str) -> DerivedModule:
    """Return what is derived where there is no operation yet."""
    content = upstream.encode()
    return derive(EditedModule(path=PATH, upstream=content, operations=(), now=content, wanted=wanted.encode()))


def _derived(old: str, new: str, overlay: str = OVERLAY) -> DerivedModule:
    operations = read_operations("o/tree/lib/m.py", overlay.encode(), layer="o", target=PATH)
    now = merge(PATH, UPSTREAM.encode(), operations, distribution="")[0]
    wanted = now.replace(old.encode(), new.encode())
    assert wanted != now
    return derive(EditedModule(path=PATH, upstream=UPSTREAM.encode(), operations=operations, now=now, wanted=wanted))


def _same(one: str, other: str) -> bool:
    known = Module(PATH, UPSTREAM.encode()).definitions.keys()
    return same_program(one.encode(), other.encode(), known)
