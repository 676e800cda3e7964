"""Made-up hierarchies over several modules: the order of every class, and whose member an object gets, are Python's."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, reject
from hypothesis import strategies as st

from npu_overlays.model import Symbol, model_of_files

from .trees import imported

# In the order in which they import each other; in which folder a module lies decides how many dots it writes.
PATHS = ("pkg/a.py", "pkg/s/__init__.py", "pkg/s/t.py", "pkg/b.py", "pkg/c.py")
MEMBERS = ("m", "n", "o")
ALIASES = ("X", "Y", "Z")


@dataclass
class GeneratedClass:
    """A class of a program: where it stands, and a real one with the same bases, which shows whether it can be made."""

    path: str
    name: str
    real: type
    generic: bool = False

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@dataclass
class Program:
    """Modules, and their classes in the order in which they are made."""

    texts: dict[str, str] = field(default_factory=lambda: {"pkg/__init__.py": "", **dict.fromkeys(PATHS, _HEAD)})
    classes: list[GeneratedClass] = field(default_factory=list)

    def write(self, path: str, line: str) -> None:
        self.texts[path] += f"{line}\n"


_HEAD = "from typing import Generic, TypeVar\nT = TypeVar('T')\n"


@st.composite
def programs(draw: st.DrawFn) -> Program:
    program = Program()
    for number, at in enumerate(sorted(draw(st.lists(st.integers(0, len(PATHS) - 1), min_size=3, max_size=9)))):
        chosen = (
            draw(st.lists(st.sampled_from(program.classes), max_size=3, unique_by=lambda one: one.name))
            if number
            else []
        )
        bases = _possible(chosen)
        path, name = PATHS[at], f"C{number}"
        shown = [_named(draw, program, path, base, alias) for base, alias in zip(bases, ALIASES, strict=False)]
        generic = not bases and draw(st.booleans())
        shown += ["Generic[T]"] if generic else []
        body = [f"    {member} = {number}" for member in MEMBERS if draw(st.booleans())] or ["    ..."]
        program.write(path, "\n".join([f"class {name}({', '.join(shown)}):", *body]))
        program.classes.append(GeneratedClass(path, name, type(name, tuple(one.real for one in bases), {}), generic))
    return program


def _possible(chosen: list[GeneratedClass]) -> list[GeneratedClass]:
    """Return those of some bases with which Python makes a class."""
    kept: list[GeneratedClass] = []
    for one in chosen:
        try:
            type("Tried", tuple(base.real for base in (*kept, one)), {})
        except TypeError:
            continue
        kept.append(one)
    return kept


def _named(draw: st.DrawFn, program: Program, path: str, base: GeneratedClass, alias: str) -> str:
    """Return what a class is called in a module further down, perhaps by an alias; the imports are written there."""
    between = [one for one in PATHS if PATHS.index(base.path) < PATHS.index(one) < PATHS.index(path)]
    home, name = base.module, base.name
    if draw(st.booleans()) and between:
        other = draw(st.sampled_from(between))
        program.write(other, f"from {home} import {draw(st.sampled_from([name, '*']))}")
        home = GeneratedClass(other, name, base.real).module
    forms = _forms(path, home, name, alias)
    if base.path == path:
        forms = {"plain": ([], name), "alias": ([f"{alias} = {name}"], alias)}
    lines, found = forms[draw(st.sampled_from(sorted(forms)))]
    for line in lines:
        program.write(path, line)
    return f"{found}[T]" if base.generic and draw(st.booleans()) else found


def _forms(path: str, home: str, name: str, alias: str) -> dict[str, tuple[list[str], str]]:
    """Return the ways in which a module can take a name from another, each with what it is called then."""
    package, _, leaf = home.rpartition(".")
    dots = "." * path.count("/")
    return {
        "from": ([f"from {home} import {name}"], name),
        "relative": ([f"from {dots}{home.removeprefix('pkg.')} import {name}"], name),
        "as": ([f"from {home} import {name} as {alias}"], alias),
        "star": ([f"from {home} import *"], name),
        "module": ([f"import {home}"], f"{home}.{name}"),
        "module as": ([f"import {home} as {alias}"], f"{alias}.{name}"),
        "submodule": ([f"from {package} import {leaf} as {alias}"], f"{alias}.{name}"),
        "alias": ([f"from {home} import {name}", f"{alias} = {name}"], alias),
    }


@given(programs())
def test_every_class_has_the_order_and_the_members_that_python_gives_it(program: Program) -> None:
    files = {path: text.encode() for path, text in program.texts.items()}
    try:
        modules = imported(files)
    except (AttributeError, TypeError):  # a star import gave an alias another meaning than was meant
        reject()
    classes = model_of_files(files, ["pkg"]).classes
    for made in program.classes:
        real = getattr(modules[made.module], made.name)
        mro = classes.mro(Symbol(made.path, made.name))
        shown = [classes.dotted(one) for one in mro.order]
        assert (shown, mro.known) == ([f"{one.__module__}.{one.__qualname__}" for one in real.__mro__[:-1]], True)
        for member in MEMBERS:
            owner = classes.owner(mro.line[0], member)
            theirs = next((one for one in real.__mro__ if member in vars(one)), None)
            assert (owner and classes.dotted(owner)) == (theirs and f"{theirs.__module__}.{theirs.__qualname__}")
