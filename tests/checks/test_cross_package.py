"""Two overlays of one stack: what one asks of the other has to be there once both are applied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from language.overlays import MARKERS
from language.pairs import source_tree, text
from npu_overlays.checks.cross_package import StackMember, StackMismatches, stack_mismatches
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.overlay_folders import find_overlay
from support.overlays import write_overlay

LIB = {
    "src/lib/__init__.py": "__version__ = '1'\n",
    "src/lib/core.py": """
        class Base:
            def forward(self, x, *, scale=1): return x
        class Engine(Base):
            note: int
            def __init__(self, name, size=1): self.name = name
        def attend(query, key, mask=None): return query
        def anything(**kwargs): return kwargs
        @register
        def hidden(x): return x
        def register(f): return f
        def again(x): return x
        try:
            from fast import again
        except ImportError:
            pass
    """,
    "src/lib/classes.py": """
        from dataclasses import dataclass, field
        from lib.core import Engine, register
        class Inherits(Engine): pass
        class Unknown(dict, Engine): pass
        @register
        class Registered(Engine):
            def __init__(self, a): self.a = a
        class OfRegistered(Registered): pass
        class Meta(type): pass
        class WithMeta(metaclass=Meta):
            def __init__(self, a): self.a = a
        class OfMeta(WithMeta): pass
        @dataclass
        class Options:
            size: int = 1
            made: int = field(default=1, init=False)
        @dataclass(kw_only=True)
        class More(Options):
            name: str = ""
        class Made(More): pass
    """,
    "src/lib/lazy.py": "def __getattr__(name): return NAMES[name]\nNAMES = {'Made': 1}\n",
    "src/lib/on_demand/__init__.py": """
        import sys
        from elsewhere import LazyModule, define_import_structure
        sys.modules[__name__] = LazyModule(__name__, define_import_structure(__file__))
    """,
    "src/lib/on_demand/model.py": "__all__ = ['Model', 'Other']\nclass Model: pass\nclass Other: pass\n",
}
APP = {
    "app/__init__.py": "",
    "app/run.py": """
        from lib.core import Engine, attend
        def start(x): return Engine("a", size=2).forward(attend(x, key=x, mask=None))
        def patch(f): Engine.forward = f
    """,
}
OLD = """
    import lib
    try:
        from lib.gone import first
    except ImportError:
        first = None
    if lib.__version__ > "2":
        from lib.gone import second
    from lib.gone import third
    from lib.core import attend
    def go(x): return attend(x, x, causal=True)
"""


def _side(
    root: Path, project: str, upstream: Mapping[str, str], overlay: Mapping[str, str], absent: tuple[str, ...] = ()
) -> StackMember:
    files = {
        f"tree/{path}": (MARKERS * (path in upstream) + text(content)).encode() for path, content in overlay.items()
    }
    package = "src/lib" if project == "lib" else project
    folder = write_overlay(
        root, project=project, commit="1" * 40, repository="https://example.invalid/x", packages=[package], files=files
    )
    content = load_content(find_overlay(root, folder.name), "1.0")
    tree = source_tree({path: text(one).encode() for path, one in upstream.items()})
    applied = apply_overlay(content, tree, absent=frozenset(absent))
    return StackMember(content=content, applied=applied)


def _together(
    root: Path, app: Mapping[str, str], lib: Mapping[str, str] = {}, old: str = "", absent: tuple[str, ...] = ()
) -> StackMismatches:
    upstream = {**APP, **({"app/old.py": old} if old else {})}
    return stack_mismatches([_side(root, "lib", LIB, lib, absent), _side(root, "app", upstream, app)])


def _told(found: StackMismatches) -> list[str]:
    return [f"{one.where.partition('/tree/')[2]}: {one.what}" for one in found.problems]


def test_a_stack_that_fits_is_told_nothing_of(tmp_path: Path) -> None:
    app = """
        from lib import core
        from lib.core import Engine as Motor, anything
        @wrapped(why="w")
        def start(x):
            return upstream(core.attend(x, key=anything(free=1), mask=Motor("a", size=x)))
    """
    found = _together(tmp_path, {"app/run.py": app})
    assert (found.problems, found.notices) == ((), ())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("from lib.core import at; return at(x)", "`from lib.core import at`: `lib.core` of {} has no `at`"),
        ("from lib import cor; return cor", "`from lib import cor`: `lib` of {} has no `cor`"),
        ("import lib.kore; return lib", "`import lib.kore`: {} has no module `lib.kore`"),
        ("return core.atend(x)", "`core.atend`: `lib.core` of {} has no `atend`"),
        ("return core.attend(x, x, causal=1)", "`core.attend(causal=…)`: `lib.core.attend` of {} takes no `causal`"),
        ("return core.Engine('a', sise=1)", "`core.Engine(sise=…)`: `lib.core.Engine` of {} takes no `sise`"),
        (
            "return partial(core.attend, x, causal=1)",
            "`core.attend(causal=…)`: `lib.core.attend` of {} takes no `causal`",
        ),
        ("return core.Base(size=1)", "`core.Base(size=…)`: `lib.core.Base` of {} takes no `size`"),
        ("return classes.Inherits(sise=1)", "`classes.Inherits(sise=…)`: `lib.classes.Inherits` of {} takes no `sise`"),
        ("return classes.Options(sise=1)", "`classes.Options(sise=…)`: `lib.classes.Options` of {} takes no `sise`"),
        ("return classes.Made(made=1)", "`classes.Made(made=…)`: `lib.classes.Made` of {} takes no `made`"),
        ("core.Engine.forwards = x", "`core.Engine.forwards = …`: `lib.core.Engine` of {} has no `forwards`"),
        ("core.attends = x", "`core.attends = …`: `lib.core` of {} has no `attends`"),
        (
            "return importlib.import_module('lib.kore')",
            "`importlib.import_module('lib.kore')`: {} has no module `lib.kore`",
        ),
        (
            "return importlib.import_module(HOOK).set_up(x)",
            "`importlib.import_module(HOOK).set_up`: `lib.core` of {} has no `set_up`",
        ),
        ("from lib.lazy import Mad3; return Mad3", "`from lib.lazy import Mad3`: `lib.lazy` of {} has no `Mad3`"),
    ],
)  # fmt: skip
def test_what_an_overlay_asks_for_and_its_partner_lacks(tmp_path: Path, body: str, message: str) -> None:
    app = "import importlib\nfrom functools import partial\nfrom lib import classes, core\nHOOK = 'lib.core'\n\n\n"
    app += "def use(x):\n    "
    app += body.replace("; ", "\n    ") + "\n\n\ndef used(): return importlib, partial, classes, core\n"
    first, *_ = _told(_together(tmp_path, {"app/own.py": app}))
    assert first == f"app/own.py:8: {message.format('lib@1111111')}"


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    from lib.gone import x\nexcept ImportError:\n    x = None",
        "import lib\nif lib.__version__ >= '2':\n    from lib.gone import x",
        "from lib.lazy import Made",
        "from lib import core\nif hasattr(core, 'more'):\n    core.more(1)",
        "from lib.core import hidden\nhidden(y=1)",
        "from lib.core import attend as find\ndef find(**more): return more\nfind(y=1)",
        "from lib.core import attend\nattend = print\nattend(y=1)",
        "from library import core",
        "try:\n    from lib.core import attend\nexcept ImportError:\n    from lib.old import attend",
        "from lib import core\nif hasattr(core, 'attend'):\n    A = core.attend\nelse:\n    A = core.old",
        "from lib import core\ndef f():\n    if not hasattr(core, 'more'):\n        return 0\n    return core.more(1)",
        "import lib\nNEW = lib.__version__ > '5'\nBOTH = NEW and True\nif BOTH:\n    from lib.gone import x",
        "import lib\ndef f(): return lib.__version__ > '5' and lib.gone",
        "from lib import core\ndef own(**more): return more\ncore.attend = own\ncore.attend(causal=1)",
        "from lib.core import attend\nmatch {}:\n    case {**attend}:\n        attend(causal=1)",
        "from lib.core import attend\nmatch []:\n    case [*attend]:\n        attend(causal=1)",
        "from lib.core import again\nagain(y=1)",
        "from lib import core\ncore.Engine.note = 1",
        "from lib.classes import *",
        "from lib import classes\nclasses.Inherits('a', size=1), classes.Unknown(more=1), classes.OfRegistered(b=1)",
        "from lib import classes\nclasses.OfMeta(b=1), classes.Options(size=1), classes.Made(size=1, name='x')",
    ],
)
def test_what_counts_with_not_being_there_or_cannot_be_told_is_let_be(tmp_path: Path, body: str) -> None:
    assert _told(_together(tmp_path, {"app/own.py": f"{body}\n"})) == []


def test_an_import_is_seen_however_it_is_spaced(tmp_path: Path) -> None:
    assert _told(_together(tmp_path, {"app/own.py": "import os,lib.kore\n\nX = lib\n"})) == [
        "app/own.py:1: `import lib.kore`: lib@1111111 has no module `lib.kore`"
    ]


@pytest.mark.parametrize(
    "body",
    [
        'if hasattr(self, "done"): return None; return core.atend(1)',
        "model = use(lib.__version__); return core.atend(1) if model else None",
    ],
)
def test_what_asks_the_other_distribution_nothing_excuses_nothing(tmp_path: Path, body: str) -> None:
    app = "import lib\nfrom lib import core\n\n\ndef use(self):\n    " + body.replace("; ", "\n    ") + "\n"
    assert _told(_together(tmp_path, {"app/own.py": app})) != []


def test_what_a_lazy_package_has_no_more_is_missed_by_its_partner(tmp_path: Path) -> None:
    lib = {"src/lib/on_demand/model.py": "__all__ = replaced(['Other'], why='w')\n"}
    lost = (
        "lib@1111111 has no `Model` any more, which app/old.py:1 of app@1111111 needs (from lib.on_demand import Model)"
    )
    found = _together(tmp_path / "a", {}, lib, "from lib.on_demand import Model, Other\n")
    assert [one.what.removeprefix("`lib.on_demand` of ") for one in found.problems] == [lost]
    found = _together(tmp_path / "b", {"app/own.py": "from lib.on_demand import Model, Other, OtherOf\n"}, lib)
    lacking = "`from lib.on_demand import {0}`: `lib.on_demand` of lib@1111111 has no `{0}`"
    assert _told(found) == [f"app/own.py:1: {lacking.format(name)}" for name in ("Model", "OtherOf")]
    assert _together(tmp_path / "c", {}, lib, "from lib.on_demand import Other, Unlisted\n").notices == ()


def test_what_an_overlay_takes_away_that_its_partner_needs(tmp_path: Path) -> None:
    """In the same file's own overlay nothing is wrong: nothing of lib's asks for it."""
    lib = """
        deleted("attend", why="d")
        class Engine:
            @edited(("name, size=1", "name"), why="e")
            def __init__(self): ...
    """
    found = _together(tmp_path, {}, {"src/lib/core.py": lib})
    first, second = _told(found)
    assert first == (
        "src/lib/core.py:2: `lib.core` of lib@1111111 has no `attend` any more, which app/run.py:1 of app@1111111 needs"
        " (from lib.core import attend)"
    )
    assert second == (
        "src/lib/core.py:5: `lib.core.Engine` of lib@1111111 takes no `size` any more, which app/run.py:2 of "
        "app@1111111 needs (Engine(size=…))"
    )


def test_it_goes_both_ways(tmp_path: Path) -> None:
    lib = {"src/lib/own.py": "def f():\n    from app.run import stop\n    return stop\n"}
    assert _told(_together(tmp_path, {}, lib)) == [
        "src/lib/own.py:2: `from app.run import stop`: `app.run` of app@1111111 has no `stop`"
    ]


def test_what_an_operation_asks_for_is_told_where_it_is_written(tmp_path: Path) -> None:
    app = """
        from lib.core import atend
        @wrapped(why="w")
        def start(x): return upstream(atend(x))
    """
    assert _told(_together(tmp_path, {"app/run.py": app})) == [
        "app/run.py:2: `from lib.core import atend`: `lib.core` of lib@1111111 has no `atend`"
    ]


def test_what_upstreams_own_code_asks_of_another_upstream_in_vain_is_named_and_no_mistake(tmp_path: Path) -> None:
    found = _together(tmp_path, {}, old=OLD)
    assert found.problems == ()
    assert found.notices == (
        "app@1111111: upstream's own app/old.py:8 (`from lib.gone import third`): lib@1111111 has no module `lib.gone`",
        (
            "app@1111111: upstream's own app/old.py:10 (`attend(causal=…)`): `lib.core.attend` of lib@1111111"
            " takes no `causal`"
        ),
    )


def test_what_the_source_at_hand_lacks_may_be_there(tmp_path: Path) -> None:
    app = {"app/own.py": "from lib.beside import x\n\nX = x\n"}
    assert _told(_together(tmp_path / "1", app)) != []
    assert _told(_together(tmp_path / "2", app, absent=("src/lib/beside.py",))) == []
