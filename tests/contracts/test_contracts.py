"""Contracts: what an operation depends on is compared with what upstream has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from language.overlays import write
from language.pairs import PATH, operations, worded
from npu_overlays.contracts.contract_check import check_contracts, warnings
from npu_overlays.contracts.contracts import Contract, contract, differences, exchanged
from npu_overlays.errors import MergeError
from npu_overlays.model.module import Module

from .locks import locked

OVERLAY = """
    @replaced(why="w")
    def f(): pass
    @wrapped(why="w")
    def g(x): return upstream(x)
    @edited(("1", "2"), why="w")
    def h(): ...
    deleted("i", why="w")
    @added(why="w")
    def j(): pass
"""
BEFORE = "def f(): return 1\ndef g(x): return 1\ndef h(): return 1\ndef i(): return 1\n"


def _contracts(source: str) -> list[Contract]:
    module = Module(PATH, source.encode())
    return [contract(module, operation) for operation in operations(OVERLAY)]


def _compare(locked: list[Contract], now: list[Contract]) -> list[str]:
    try:
        return check_contracts(locked, now, operations(OVERLAY), overlay="o", argument="o")
    except MergeError as error:
        return [worded(problem) for problem in error.problems]


def test_what_each_operation_saw_is_kept() -> None:
    kept = {entry.symbol: set(filter(vars(entry).get, vars(entry))) for entry in _contracts(BEFORE)}
    seen = {"path", "symbol", "operation", "kind", "signature", "body"}
    assert kept == {"f": seen, "g": seen, "h": seen, "i": seen, "j": {"path", "symbol", "operation"}}


def test_an_unchanged_upstream_keeps_every_contract() -> None:
    assert _compare(_contracts(BEFORE), _contracts(BEFORE)) == []
    reworded = BEFORE.replace("return 1", "'''Doc.'''; return  1  # same")
    assert _compare(_contracts(BEFORE), _contracts(reworded)) == []


def test_changed_definitions_break_replacements_and_deletions_and_are_told_of_wrappers_and_edits() -> None:
    only_body = BEFORE.replace("def g(x): return 1", "def g(x: int) -> int: return 2").replace(
        "h(): return 1", "h(): 1"
    )
    assert _compare(_contracts(BEFORE), _contracts(only_body)) == [
        "o.py:5: the annotations, body of the wrapped `g` changed upstream",
        "o.py:7: the body of the edited `h` changed upstream",
    ]
    fix = "adapt the operation, then run `npu-overlays lock o`"
    changed = BEFORE.replace("return 1", "return 2").replace("g(x)", "g(x, y=1)")
    assert _compare(_contracts(BEFORE), _contracts(changed)) == [
        f"3: upstream's body of `f` in pkg/module.py is no longer what this was written for; {fix}",
        f"5: upstream's signature of `g` in pkg/module.py is no longer what this was written for; {fix}",
        f"8: upstream's body of `i` in pkg/module.py is no longer what this was written for; {fix}",
    ]


_BASE = "class A(B):\n    @cache\n    def f(self, x: int = 1) -> int:\n        return x\n"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (_BASE, []),
        (_BASE.replace("return x", "'Doc.'; return x"), []),
        (_BASE.replace("return x", "return x,"), ["body"]),
        (_BASE.replace("return x", "yield x"), ["kind (`plain function` → `generator`)", "body"]),
        (_BASE.replace("def f", "async def f"), ["kind (`plain function` → `coroutine`)"]),
        (_BASE.replace("@cache", "@contextmanager"), ["decorators (`@cache` → `@contextmanager`)"]),
        (_BASE.replace("@cache", "@cache\n    @b(1)"), ["decorators (`@cache` → `@cache @b(1)`)"]),
        (_BASE.replace("    @cache\n", ""), ["decorators (`@cache` is gone)"]),
        (_BASE.replace(": int =", ": str ="), ["annotations"]),
        (_BASE.replace("-> int", "-> str"), ["annotations"]),
        (_BASE.replace("= 1", "= 2"), ["signature (`(self, x=1)` → `(self, x=2)`)"]),
        (_BASE.replace("= 1", ""), ["signature (`(self, x=1)` → `(self, x)`)"]),
        (_BASE.replace("x: int = 1", "*, x: int = 1"), ["signature (`(self, x=1)` → `(self, *, x=1)`)"]),
        (_BASE.replace("x: int = 1", "x: int = 1, /"), ["signature (`(self, x=1)` → `(self, x=1, /)`)"]),
        (_BASE.replace("x: int = 1", "*x: int"), ["signature (`(self, x=1)` → `(self, *x)`)"]),
        (_BASE.replace("A(B)", "A(B, C)"), ["class (`A(B)` → `A(B, C)`)"]),
        (f"@dataclass\n{_BASE}", ["class (`A(B)` → `@dataclass A(B)`)"]),
        (_BASE.replace("return x", "return sys._getframe(1)"), ["body", "onlookers (`_getframe` is new)"]),
        (
            _BASE.replace("A(B)", "A(B, metaclass=M)"),
            ["class (`A(B)` → `A(B, metaclass=M)`)", "onlookers (`metaclass=M` is new)"],
        ),
    ],
)
def test_every_part_of_a_wrapped_function_is_compared(now: str, said: list[str]) -> None:
    (operation,) = operations("class A:\n    @wrapped(why='w')\n    def f(self, x=1): return upstream(self, x)\n")
    one, other = (contract(Module(PATH, source.encode()), operation) for source in (_BASE, now))
    assert [str(difference) for difference in differences(one, other)] == said


def test_an_addition_depends_on_the_class_around_it() -> None:
    (operation,) = operations("class A:\n    class B:\n        x = added(1, why='w')\n")
    one, other = (
        contract(Module(PATH, f"class A:\n    class B{bases}: pass\n".encode()), operation) for bases in ("", "(C)")
    )
    assert [str(difference) for difference in differences(one, other)] == ["class (`A() > B()` → `A() > B(C)`)"]


@pytest.mark.parametrize(
    ("source", "watched"),
    [
        ("def g(x): return sys._getframe(1)", "_getframe"),
        ("def g(x): return warnings.warn(x, Warning, 2)", "stacklevel"),
        ("def g(x): return inspect.stack()[1], inspect.currentframe()", "currentframe, inspect.stack"),
        ("def g(x): warnings.warn('w', stacklevel=2)", "stacklevel"),
        ("def g(x): warnings.warn('w'); return stack()", ""),
    ],
)
def test_an_original_that_looks_at_its_caller_is_told_of(source: str, watched: str) -> None:
    (operation,) = operations("@wrapped(why='w')\ndef g(x): return upstream(x)\n")
    entry = contract(Module(PATH, source.encode()), operation)
    notice = f"o.py:3: upstream's code can tell the wrapper of `g` by {watched}"
    assert list(warnings([entry], [operation])) == ([notice] if watched else [])
    assert check_contracts([entry], [entry], [operation], overlay="o", argument="o") == []


def test_a_class_whose_machinery_lists_its_members_is_told_of() -> None:
    source = """
class Base:
    def __init_subclass__(cls, **k): pass
class A(Base, metaclass=abc.ABCMeta, name=1):
    def g(self): pass
class B(metaclass=Registry):
    def g(self): pass
"""
    found = operations(
        "class A:\n    @wrapped(why='w')\n    def g(self): return upstream(self)\n"
        "class B:\n    @wrapped(why='w')\n    def g(self): return upstream(self)\n"
    )
    watched = [contract(Module(PATH, source.encode()), operation).watched for operation in found]
    assert watched == ["Base.__init_subclass__, name=1", "metaclass=Registry"]


_TYPE_CHECKERS = "type checkers, to which the original is a member of the Protocol"
_HEIRS_RUN = "the Protocol's implementations, which run it only if they inherit it"


@pytest.mark.parametrize(
    ("base", "body", "watched"),
    [
        ("Protocol", "return x", _TYPE_CHECKERS),
        ("Protocol", "...", f"{_HEIRS_RUN}, {_TYPE_CHECKERS}"),
        ("Protocol", "'Doc.'; pass", f"{_HEIRS_RUN}, {_TYPE_CHECKERS}"),
        ("Generic", "...", ""),
    ],
)
def test_a_notice_says_who_runs_a_wrapper_in_a_protocol(base: str, body: str, watched: str) -> None:
    (operation,) = operations("class A:\n    @wrapped(why='w')\n    def f(self, x): return upstream(self, x)\n")
    source = f"from typing import {base}\nclass A({base}):\n    def f(self, x): {body}\n"
    assert contract(Module(PATH, source.encode()), operation).watched == watched


@pytest.mark.parametrize(
    ("source", "watched"),
    [
        (
            "if TYPE_CHECKING:\n    def f(x): ...\nelse:\n    f = make()",
            "`if TYPE_CHECKING`, under which nothing runs it",
        ),
        ("@overload\ndef f(x): ...\ndef f(x, *y): pass", "`@overload`: nothing runs a stub"),
        ("if x:\n    def f(x): ...\nelse:\n    f = make()", ""),
    ],
)
def test_a_notice_says_that_nothing_runs_the_wrapper_of_a_stub(source: str, watched: str) -> None:
    (operation,) = operations("@wrapped(why='w', where='#1')\ndef f(x): return upstream(x)\n")
    assert contract(Module(PATH, source.encode()), operation).watched == watched


@pytest.mark.parametrize(
    ("source", "watched"),
    [
        ("def f(x=0): pass\n__all__ = [n for n in globals()]", "globals()"),
        ("def f(x=0): pass\nNAMES = dir(); OWN = dict(vars())", "dir(), vars()"),
        (
            "def f(x=0): pass\ndef g(): return inspect.getmembers(sys.modules[__name__])",
            "inspect.getmembers(sys.modules[__name__])",
        ),
        ("def f(x=0): pass\ndef g(): return locals().items(), dir(), dir(x), 'x' in globals(), globals()['x']", ""),
        ("def f(x=[]): pass", "the default x=[], made twice"),
        ("def f(x=make(1)): pass", "the default x=make(1), made twice"),
        ("def f(x=float('inf')): pass", ""),
        ("@triton.autotune(1)\n@triton.jit\ndef f(x=0): pass", "@triton.jit, which compiles its text"),
        ("def f(x=(1, NONE, -1)): pass", ""),
    ],
)
def test_what_lists_the_names_of_a_module_and_what_is_made_twice_is_told_of(source: str, watched: str) -> None:
    (operation,) = operations("@wrapped(why='w')\ndef f(x=...): return upstream(x)\n")
    found = contract(Module(PATH, source.encode()), operation).watched
    assert found == watched


@pytest.mark.parametrize(
    ("around", "watched"),
    [
        ("class A:\n    {f}\n    def g(self): return dir(self)", "dir(self)"),
        (
            "class A:\n    {f}\n    @classmethod\n    def g(c): return {{**c.__dict__}}, vars(c).items()",
            "c.__dict__, vars(c)",
        ),
        ("class A:\n    {f}\n    @classmethod\n    def g(c): return c.__dict__['f'], vars(c).get('f')", ""),
        ("class A:\n    {f}\n    def g(self): return vars(self).items(), self.__dict__.copy(), 'f' in dir(self)", ""),
        ("class A:\n    {f}\n    def g(self): return vars(type(self)).items()", "vars(type(self))"),
        ("class B:\n    def g(self): return dir(self.__class__)\nclass A(B):\n    {f}", "dir(self.__class__)"),
        ("class A:\n    {f}\nclass B(A):\n    def g(self): return getmembers(self)", "getmembers(self)"),
        ("class A:\n    {f}\nclass B:\n    def g(self): return getmembers(self)", ""),
        ("def register(c):\n    return list(vars(c))\n@register\nclass A:\n    {f}", "vars(c)"),
        ("class A:\n    {f}\nNAMES = [n for n in dir(A) if n], dir(os)", "dir(A)"),
        ("class A:\n    {f}\n    T = f(1)\nNAMES = [n for n in globals()]", "globals()"),
        ("class A:\n    {f}\nNAMES = [n for n in globals()]", ""),
    ],
)
def test_what_lists_the_members_of_a_class_is_told_of(around: str, watched: str) -> None:
    (operation,) = operations("class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n")
    found = contract(Module(PATH, around.format(f="def f(self): pass").encode()), operation).watched
    assert found == watched


@pytest.mark.parametrize("action", ["replaced", "wrapped", "edited"])
@pytest.mark.parametrize(
    ("setting", "hidden"),
    [
        ("if x: self.f = x", "A.__init__"),
        ("self.f = cached(self.f)", ""),
        ("object.__setattr__(self, 'f', getattr(self, 'f'))", ""),
    ],
)
def test_a_method_that_objects_may_have_otherwise_is_told_of(action: str, setting: str, hidden: str) -> None:
    source = f"class A:\n    def __init__(self, x):\n        {setting}\n    def f(self): pass\n"
    marks = {
        "replaced": "@replaced(why='w')\n    def f(self): return 1",
        "wrapped": "@wrapped(why='w')\n    def f(self): return upstream(self)",
        "edited": "@edited(('pass', 'return 1'), why='w')\n    def f(self): ...",
    }
    (operation,) = operations(f"class A:\n    {marks[action]}\n")
    entry = contract(Module(PATH, source.encode()), operation)
    notice = f"{operation.where}: A.__init__ may give objects another `f` than the {action} `A.f`"
    assert list(warnings([entry], [operation])) == ([notice] if hidden else [])
    unseen = replace(entry, hidden="")
    now = [f"{operation.where}: the hidden of the {action} `A.f` changed upstream"]
    assert check_contracts([unseen], [entry], [operation], overlay="o", argument="o") == (now if hidden else [])


def test_bases_in_other_modules_count_for_what_hides_a_member_and_looks_at_it(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .base import Base\n",
        "pkg/base.py": (
            "class Base:\n    def __init__(self): self.f = None\n"
            "    def __init_subclass__(cls): ...\n    def all(self): return dir(self)\n"
        ),
        "pkg/m.py": "import pkg\nclass A(pkg.Base):\n    def f(self): ...\n",
    }
    overlay = "class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n"
    (entry,) = locked(tmp_path / "o", write(tmp_path / "o", {"tree/pkg/m.py": overlay}), files).lock.contracts
    assert entry.hidden == "Base.__init__ of pkg/base.py"
    assert entry.watched == "Base.__init_subclass__, dir(self)"


YIELDS = "def f(): yield"
GETS = "    @property\n    def a(self): ...\n"
SETS = "    @a.setter\n    def a(self, x): ...\n"
CACHED = "has a `a` that has @cached_property for @property"


@pytest.mark.parametrize(
    ("source", "replacement", "said"),
    [
        ("@reg('a')\nasync def f(x, y): pass", "def f(y): pass", ["leaves out @reg('a')"]),
        ("@a\n@b\n@c\ndef f(x): pass", "@b\ndef f(x): pass", ["leaves out @a @c"]),
        ("@a\ndef f(x): pass", "@b\n@a\ndef f(x): pass", []),
        ("@dataclass\nclass f:\n    x: int", "class f: ...", ["leaves out @dataclass"]),
        (
            "class f:\n    def a(self, x, y): ...\n    def b(self): ...\n    @reg\n    def c(self): ...",
            "class f:\n    def a(self, y, x): ...\n    async def b(self): ...\n    def c(self): ...",
            [
                "has a `a` that does not take upstream's parameter `x` in its place",
                "has a `b` that is a coroutine, upstream's is a plain function",
                "has a `c` that leaves out @reg",
            ],
        ),
        ("class f:\n    def a(self, x): ...", "class f:\n    def a(self, x, y=1): return y", []),
        (
            f"from contextlib import contextmanager\n@contextmanager\n{YIELDS}",
            f"@contextlib.contextmanager\n{YIELDS}",
            [],
        ),
        (
            "class f:\n    @property\n    def a(self): ...",
            "class f:\n    @cached_property\n    def a(self): ...",
            [CACHED],
        ),
        (f"class f:\n{GETS}{SETS}", f"class f:\n{GETS}", ["has a `a` that leaves out @a.setter"]),
        (f"class f:\n{GETS}{SETS}", f"class f:\n{GETS}{SETS}", []),
        (
            "class f:\n    def a(self): ...",
            "class f:\n    a = 1",
            ["has a `a` that is a value, upstream's is a function"],
        ),
        ("class f:\n    def a(self): ...", "class f:\n    a = other", []),
        (f"class f:\n{GETS}", "class f:\n    a = 1", []),
    ],
)
def test_a_replacement_that_is_another_one_to_callers_is_told_of(
    source: str, replacement: str, said: list[str]
) -> None:
    imports = "import contextlib\n" if "contextlib." in replacement else ""
    (operation,) = operations(f"{imports}@replaced(why='w')\n{replacement}\n")
    entry = contract(Module(PATH, source.encode()), operation)
    notice = f"{operation.where}: the replaced `f` {'; '.join(said)}"
    assert list(warnings([entry], [operation])) == ([notice] if said else [])


def test_what_an_operation_has_otherwise_than_when_it_was_locked_is_told_as_its_own() -> None:
    source = "@a\n@b\ndef f(x): pass"
    module = Module(PATH, source.encode())
    locked = [contract(module, one) for one in operations("@replaced(why='w')\n@a\n@b\ndef f(x): pass\n")]
    now = [contract(module, one) for one in operations("@replaced(why='w')\n@b\ndef f(x): pass\n")]
    where = "o.py:3: the replaced `f`"
    again = "which overlay.lock does not say: review it, then run `npu-overlays lock o`"
    operation = operations("@replaced(why='w')\ndef f(x): pass\n")
    assert check_contracts(locked, now, operation, overlay="o", argument="o") == [f"{where} leaves out @a, {again}"]
    assert check_contracts(now, locked, operation, overlay="o", argument="o") == [
        f"{where} no longer leaves out @a, {again}"
    ]


def test_missing_and_superfluous_contracts_are_all_reported() -> None:
    locked = _contracts(BEFORE)
    other = Contract(path="a.py", symbol="b", operation="replaced")
    assert _compare([other, *locked[1:]], locked) == [
        "3: the replaced `f` of pkg/module.py is not in overlay.lock; review it, then run `npu-overlays lock o`",
        "o/overlay.lock: holds a contract for `b` of a.py, on which there is no operation; run `npu-overlays lock o`",
    ]


def test_another_operation_on_the_same_symbol_is_a_missing_contract() -> None:
    locked = _contracts(BEFORE)
    changed = [Contract(path=PATH, symbol="f", operation="wrapped"), *locked[1:]]
    assert _compare(changed, locked) == [
        "3: the replaced `f` of pkg/module.py is not in overlay.lock; review it, then run `npu-overlays lock o`",
    ]


def test_a_contract_on_what_is_not_there_is_refused() -> None:
    with pytest.raises(MergeError, match="has no `f`"):
        contract(Module(PATH, b"def h(): return 1\n"), operations(OVERLAY)[0])


def test_a_long_decorator_that_is_another_one_now_is_shown_in_full() -> None:
    before, after = f"@deprecate({'x' * 60})", f"@deprecate({'y' * 60})"
    assert exchanged(before, after) == f"`{before}` → `{after}`"
    assert exchanged(f"@cache {before}", f"@cache {after}") == f"`{before}` → `{after}`"
