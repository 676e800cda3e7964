"""What modules do of their own accord is no replacement: decorators, lazy modules, generated methods, conditions."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from npu_doctor.audit import definitions
from npu_doctor.audit.compare import Makers, Mismatch, NamespaceComparison
from npu_doctor.audit.layers import Homes

QUIET = {
    "decorators of the standard library": """
import functools, contextlib, abc
@functools.lru_cache
def a(): ...
@contextlib.contextmanager
def b(): yield
@functools.singledispatch
def c(x): ...
@c.register
def _(x: int): ...
class D(abc.ABC):
    @functools.cached_property
    def e(self): ...
    @property
    @abc.abstractmethod
    def f(self): ...
    @f.setter
    def f(self, value): ...
    @functools.wraps(a)
    def g(self): ...
    @functools.singledispatchmethod
    def h(self, x): ...
""",
    "own decorators, with and without wraps": """
import functools
def wrap(function):
    def run(*args): return function(*args)
    return run
def factory(*, times):
    def decorate(function):
        @functools.wraps(function)
        def run(*args): return function(*args)
        return run
    return decorate
@wrap
@factory(times=2)
def a(): ...
class B:
    @wrap
    def c(self): ...
    @classmethod
    @wrap
    def d(cls): ...
""",
    "generated classes": """
import collections, dataclasses, enum, typing
@dataclasses.dataclass(frozen=True, order=True)
class A:
    x: int = 0
    def m(self): ...
class B(enum.Enum):
    ONE = 1
    def m(self): ...
    def __new__(cls, value):
        made = object.__new__(cls)
        made._value_ = value
        return made
class C(typing.NamedTuple):
    x: int
    def m(self): ...
class D(typing.Protocol):
    def m(self): ...
class E(collections.namedtuple("E", "x")):
    __slots__ = ()
    def m(self): ...
class F(typing.TypedDict):
    x: int
""",
    "conditions and fallbacks": """
import sys
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from nowhere import a
    def only(): ...
try:
    from absent_thing import b
except ImportError:
    def b(): ...
if sys.version_info > (99,):
    def c(): return 1
else:
    def c(): return 2
if sys.platform == "never":
    def d(): ...
with open(__file__) as _opened:
    def e(): ...
for _ in range(2):
    def f(): ...
""",
    "names bound again": """
def a(): ...
a = staticmethod(a)
def b(): ...
def b(): return 2
def c(): ...
del c
class D:
    def m(self): ...
    n = m
    def __private(self): ...
def other(self): ...
D.m = other
class E:
    def m(self): ...
setattr(E, "m", other)
for _name in ("x", "y"):
    setattr(E, _name, other)
state = None
def set_state():
    global state
    state = other
set_state()
class G:
    def m(self): ...
def register(kind):
    kind.m = classmethod(other)
    return kind
G = register(G)
""",
    "copies of functions": """
import types
def copy(f): return types.FunctionType(f.__code__, f.__globals__)
class A:
    def m(self): ...
A.m = copy(A.m)
""",
    "metaclasses and hooks": """
class Meta(type):
    def __new__(mcs, name, bases, body):
        made = super().__new__(mcs, name, bases, body)
        made.extra = lambda self: 1
        return made
class A(metaclass=Meta):
    def m(self): ...
class B:
    def __init_subclass__(cls): cls.hooked = lambda self: 1
    def __class_getitem__(cls, item): ...
class C(B):
    def m(self): ...
""",
    "imports under other names": """
import os.path, collections as c
from os import path as p, sep
from json import *
from concurrent import futures
""",
}


def compare(source: str, folder: Any, change: str = "") -> list[Mismatch]:
    """Return the mismatches of a module made from source, after running more code on it."""
    file = folder / "quiet.py"
    file.write_text(source)
    module = ModuleType("quiet")
    module.__file__ = str(file)
    exec(compile_(source, str(file)), vars(module))  # noqa: S102  # the module under test
    exec(compile_(change, str(folder / "other.py")), {"m": module})  # noqa: S102  # as above
    scope = definitions.read(source.encode(), module="quiet", is_package=False)
    homes = Homes(modules={**Homes.now().modules, str(file): "quiet", str(folder / "other.py"): "other"})
    return list(NamespaceComparison(makers=Makers(module=module, scope=scope, homes=homes)).mismatches())


def compile_(source: str, name: str) -> Any:
    return compile(source, name, "exec", dont_inherit=True)


@pytest.mark.parametrize("name", QUIET)
def test_own_doing_is_quiet(name: str, tmp_path: Any) -> None:
    assert compare(QUIET[name], tmp_path) == []


@pytest.mark.parametrize(
    ("name", "change", "symbol"),
    [
        ("decorators of the standard library", "m.a = lambda: 1", "a"),
        ("decorators of the standard library", "m.b = lambda: 1", "b"),
        ("decorators of the standard library", "m.D.f = property(lambda s: 1)", "D.f"),
        ("own decorators, with and without wraps", "m.a = (lambda f: lambda: f())(m.a)", "a"),
        ("own decorators, with and without wraps", "m.B.d = classmethod(lambda c: 1)", "B.d"),
        ("generated classes", "m.A.m = lambda s: 1", "A.m"),
        ("generated classes", "m.A.__init__ = lambda s: None", "A.__init__"),
        ("generated classes", "type.__setattr__(m.B, 'm', lambda s: 1)", "B.m"),
        ("generated classes", "m.C.m = lambda s: 1", "C.m"),
        ("conditions and fallbacks", "m.b = lambda: 1", "b"),
        ("conditions and fallbacks", "m.c = lambda: 1", "c"),
        ("conditions and fallbacks", "del m.e", "e"),
        ("metaclasses and hooks", "m.A.m = lambda s: 1", "A.m"),
        ("names bound again", "m.D._D__private = lambda s: 1", "D._D__private"),
        ("imports under other names", "m.futures = type('X', (), {})", "futures"),
    ],
)
def test_same_modules_are_not_beyond_suspicion(name: str, change: str, symbol: str, tmp_path: Any) -> None:
    assert [one.symbol for one in compare(QUIET[name], tmp_path, change)] == [symbol]


def test_lazy_module_is_compared_with_the_homes_of_its_names(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys  # noqa: PLC0415

    class Lazy(ModuleType):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            self._class_to_module = {"Thing": "home", "Unloaded": "elsewhere"}

    home = ModuleType("lazy.home")
    exec("class Thing: ...\n", vars(home))  # noqa: S102  # the module under test
    monkeypatch.setitem(sys.modules, "lazy.home", home)
    module = Lazy("lazy")
    vars(module)["Thing"] = vars(home)["Thing"]
    scope = definitions.read(b"def __getattr__(name): ...\n", module="lazy", is_package=True)

    def mismatches() -> list[str]:
        makers = Makers(module=module, scope=scope, homes=Homes.now())
        return [one.symbol for one in NamespaceComparison(makers=makers).mismatches()]

    assert mismatches() == []
    placeholder = type("Thing", (), {"__qualname__": f"{Lazy.__qualname__}.__getattr__.<locals>.Placeholder"})
    vars(module)["Thing"] = placeholder
    assert mismatches() == []
    vars(module)["Thing"] = type("Thing", (), {"__module__": "elsewhere"})
    assert mismatches() == ["Thing"]
    assert tmp_path.exists()
