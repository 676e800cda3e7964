"""Names of upstream's that an operation uses and that are others now: it follows as far as syntax proves it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.locks import locked
from language.overlays import write
from language.pairs import source_tree, text
from npu_overlays.authoring.port.classifier import Classifier, names_of
from npu_overlays.authoring.port.followed_names import FollowedNames
from npu_overlays.authoring.port.parts import PortedPart, parts, with_reads
from npu_overlays.authoring.port.upstream_commits import LandedCommits
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import DefinedNames, snapshot_of
from npu_overlays.contracts.changed_reads import changed_reads
from npu_overlays.model import model_of

from .test_adaptation import put

PATH = "pkg/core.py"
CORE = """
    class Attn:
        def __init__(self, heads, kv):
            self.dim = heads
            self.groups = heads // kv

        def forward(self, x):
            return repeat(x, self.groups)

    class Other:
        def go(self, x, times=1):
            for _ in range(times):
                x = repeat(x, 2)
            return x

    def repeat(x, n):
        return x * n
"""
IMPORTING = "    from pkg.ops import repeat\n" + CORE.partition("    def repeat")[0]
OPS = "def repeat(x, n):\n    return x * n\n"
OUTER = CORE.replace("    class Attn", "    from torch.nn import repeat\n\n    class Attn", 1).partition(
    "    def repeat"
)[0]
MEMBER = """
    class Attn:
        @{mark}
        def forward(self, x):
            {body}
"""


def wrapped(result: str, before: str = "") -> str:
    body = f"{before}\n            return upstream(self, x) + {result}".lstrip("\n ")
    return MEMBER.format(mark='wrapped(why="x")', body=body)


def edited(find: str, put_in: str) -> str:
    return MEMBER.format(mark=f'edited(("{find}", "{put_in}"), why="x")', body="...")


def judged(
    folder: Path, overlay: str, before: str, after: str, *, more: Mapping[str, tuple[str, str]] = {}
) -> list[PortedPart]:
    """Return the parts of an overlay of one file where that changed, and others with it."""
    trees: list[dict[str, bytes]] = []
    for number, core in enumerate((before, after)):
        others = {path: text(both[number]).encode() for path, both in more.items() if both[number]}
        trees.append({"pkg/__init__.py": b"", PATH: text(core).encode(), **others})
    made = locked(folder / "o", write(folder / "o", {f"tree/{PATH}": overlay}), trees[0])
    content, lock = made.content, made.lock
    names = DefinedNames(names_of(content.operations))
    base, now = (snapshot_of(source_tree(tree), names) for tree in trees)
    symbols = model_of(content.overlay.pin, source_tree(trees[1])).symbols
    reads = lock.reads or ()
    classifier = Classifier(content, lock.contracts, base)
    found = parts(content, classifier, now, LandedCommits())
    followed = FollowedNames(classifier=classifier, now=now, symbols=symbols, reads=reads, content=content)
    return list(followed.judged(with_reads(found, changed_reads(reads, symbols, content), ())))


def of(folder: Path, overlay: str, before: str, after: str, *, more: Mapping[str, tuple[str, str]] = {}) -> Verdict:
    """Return the verdict on the first part."""
    return judged(folder, overlay, before, after, more=more)[0].verdict


def written(verdict: Verdict) -> list[str]:
    """Return the code of a proposed operation."""
    assert verdict.wanted
    return [verdict.wanted.text, *(part for one in verdict.wanted.edits for part in (one.find, one.replace))]


GROUPS = CORE.replace("groups", "n_groups")
EXPAND = CORE.replace("repeat", "expand")
SCALE = "def scale(self, x):\n            return x * self.dim\n\n        def forward"
METHOD = put(CORE, "def forward", SCALE, "repeat(x, self", "repeat(self.scale(x), self")
SHARED = put(CORE, "        def __init__", "        base = 3\n\n        def __init__", "self.groups)", "self.base)")
LIMIT = CORE.replace("    class Attn", "    LIMIT = 3\n\n    class Attn").replace("self.groups)", "LIMIT)")
SHOW = "class Other:\n        def show(self):\n            return self.groups\n"
BOTH = GROUPS.replace("repeat", "expand")


REPLACED = MEMBER.format(mark='replaced(why="x")', body="return self.groups")
ADDED = '@added(why="x")\ndef twice(x):\n    return repeat(x, 2)\n'


@pytest.mark.parametrize(
    ("overlay", "before", "after", "expected"),
    [
        (wrapped("self.groups"), CORE, GROUPS, "self.n_groups"),
        (wrapped("repeat(x, 1)"), CORE, EXPAND, "expand(x, 1)"),
        (wrapped("repeat(x, self.groups)"), CORE, BOTH, "expand(x, self.n_groups)"),
        (wrapped("repeat(x, dict(repeat=1))"), CORE, EXPAND, "expand(x, dict(repeat=1))"),
        (wrapped("self.scale(x)"), METHOD, METHOD.replace("scale", "grow"), "self.grow(x)"),
        (wrapped("self.base"), SHARED, SHARED.replace("base", "root"), "self.root"),
        (wrapped("LIMIT"), LIMIT, LIMIT.replace("LIMIT", "MOST"), "MOST"),
        (edited("x, self.groups", "x + self.groups, self.groups"), CORE, GROUPS, "x + self.n_groups, self.n_groups"),
        (edited("repeat(x", "repeat(2 * x"), CORE, EXPAND, "expand(2 * x"),
        (edited("repeat(x", "max(x"), CORE, EXPAND, "max(x"),
        (REPLACED, CORE, GROUPS, "return self.n_groups"),
        (ADDED, CORE, EXPAND, "return expand(x, 2)"),
        # What else upstream did in the same method, or in one that is gone, is no reason against it.
        (wrapped("self.groups"), CORE, put(GROUPS, "= heads\n", "= heads + 1\n"), "self.n_groups"),
        (wrapped("self.groups"), put(CORE, "class Other:\n", SHOW), GROUPS, "self.n_groups"),
    ],
)
def test_an_operation_follows(tmp_path: Path, overlay: str, before: str, after: str, expected: str) -> None:
    found = of(tmp_path, overlay, before, after)
    assert (found.proposal, found.applies) == ("follow", False), found
    assert written(found)[-1].rstrip().endswith(expected), written(found)


MORE = "self.more = 1\n            self.groups = "
TWO = put(CORE, "self.groups = ", MORE, "self.groups)", "self.groups + self.more)")
LOCAL = put(CORE, "self.groups =", "n =", "// kv\n", "// kv\n            self.groups = n\n")
TRIED = """
    try:
        from a import expand
    except ImportError:
        def expand(x, n):
            return x * n
"""
READING = put(LIMIT, "LIMIT)", "self.groups)")
STEP = "x = 2\n            return {}"
ASSIGNED = wrapped("self.groups")
CALLED = wrapped("repeat(x, 1)")


@pytest.mark.parametrize(
    ("overlay", "before", "after", "why"),
    [
        # Upstream does not show that it is the same name.
        (ASSIGNED, CORE, put(GROUPS, "x = expand", "x.groups = expand", "x = repeat", "x.groups = repeat"), ""),
        (ASSIGNED, put(CORE, "self.dim", "self.n_groups"), GROUPS, ""),
        (ASSIGNED, CORE, put(GROUPS, "x, self.n_groups", "x + 1, self.n_groups"), "changed in more than names"),
        (ASSIGNED, CORE, put(GROUPS, "heads // kv", "heads"), "changed in more than names"),
        (ASSIGNED, LOCAL, put(LOCAL, "self.groups", "self.n_groups", "n = heads // kv", "n = heads"), "its value"),
        (ASSIGNED, TWO, put(TWO, "groups", "new", "self.more", "self.new"), "so may be `more`"),
        (ASSIGNED, CORE, put(GROUPS, "x = repeat", "x = getattr(x, 'groups') or repeat"), "`groups` in a text"),
        (ASSIGNED, put(CORE, "x = repeat", "x = getattr(x, 'n_groups') or repeat"), GROUPS, "was there before"),
        (ASSIGNED, put(CORE, "x, self.groups", "x, 2"), put(GROUPS, "x, self.n_groups", "x, 2"), "no statement reads"),
        (ASSIGNED, CORE, put(GROUPS, "            self.n_groups = heads // kv\n", ""), "changed in more than names"),
        (ASSIGNED, CORE, put(GROUPS, "= heads // kv", "= heads // kv\n            self.n_groups += 1"), "its value"),
        (CALLED, CORE, put(EXPAND, "expand(x, 2)", "other(x, 2)"), "changed in more than names"),
        (CALLED, CORE, put(EXPAND, "expand(x, n)", "expand(x, n, m)"), "its signature"),
        (CALLED, CORE, put(EXPAND, "return x * n", "return x, n"), "its result"),
        (CALLED, CORE, EXPAND.partition("    def expand")[0] + TRIED, "under a condition"),
        (CALLED, put(CORE, "class Other", "def expand(): pass\n\n    class Other"), EXPAND, ""),
        (wrapped("LIMIT"), LIMIT, put(LIMIT, "LIMIT", "MOST", "= 3", "= 4"), "its value"),
        # Our text may mean something else by it.
        (wrapped("self.groups + x.n_groups"), CORE, GROUPS, "has `n_groups` already"),
        (wrapped("self.groups + getattr(self, 'groups')"), CORE, GROUPS, "by texts"),
        (wrapped("f'{self.groups}', self.groups"), CORE, GROUPS, "in a formatted text"),
        (wrapped("self.groups + x.groups"), CORE, GROUPS, "`groups` of `x`"),
        (wrapped("self.groups + abs(x).groups"), CORE, GROUPS, "of another expression"),
        (wrapped("self.groups", "before = self.groups; self = x"), CORE, GROUPS, "another `self`"),
        (wrapped("self.groups + (lambda self: self.groups)(x)"), CORE, GROUPS, "another `self`"),
        (wrapped("self.groups + len(vars(x))"), CORE, GROUPS, "by texts"),
        (wrapped("repeat(x, 1) + (lambda expand: expand)(x)"), CORE, EXPAND, "has `expand` already"),
        (wrapped("repeat(x, 1), 'repeat'"), CORE, EXPAND, "by texts"),
        (wrapped("f'{repeat(x, 1)}', repeat(x, 1)"), CORE, EXPAND, "in a formatted text"),
        (wrapped("repeat(x, 1) + [repeat for repeat in x][0]"), CORE, EXPAND, "another `repeat`"),
        (edited("x, self.groups", "x + x.groups, self.groups"), CORE, GROUPS, "`groups` of `x`"),
        (edited("x, self.groups", "getattr(x, 'groups'), self.groups"), CORE, GROUPS, "an attribute by `'groups'`"),
        (edited("repeat(x", "repeat(repeat := x"), CORE, EXPAND, "another global's name"),
        (edited("return repeat(x", "repeat = abs; return repeat(x"), CORE, EXPAND, "another global's name"),
        # Other things changed, too.
        (
            REPLACED,
            CORE,
            put(
                GROUPS,
                "return expand",
                "x = 2\n            return expand",
                "return repeat",
                "x = 2\n            return repeat",
            ),
            "more than that",
        ),
        (
            wrapped("self.groups + LIMIT"),
            LIMIT.replace("LIMIT)", "self.groups)"),
            put(LIMIT.replace("LIMIT)", "self.groups)"), "groups", "n_groups", "= 3", "= 4"),
            "its value",
        ),
    ],
)
def test_what_syntax_does_not_prove_is_for_a_person(
    tmp_path: Path, overlay: str, before: str, after: str, why: str
) -> None:
    found = of(tmp_path, overlay, before, after)
    assert (found.proposal, found.applies) == ("", False), found
    assert why in found.unknown, found.unknown


def test_what_an_import_brings_has_another_name_now(tmp_path: Path) -> None:
    after = IMPORTING.replace("pkg.ops", "pkg.fast").replace("repeat", "expand")
    more = {"pkg/ops.py": (OPS, "y = 1\n"), "pkg/fast.py": ("", OPS.replace("repeat", "expand"))}
    for overlay in (wrapped("upstream(self, x) + repeat(x, n=1)"), edited("repeat(x", "repeat(2 * x")):
        found = of(tmp_path / str(len(overlay)), overlay, IMPORTING, after, more=more)
        assert (found.proposal, found.change) == ("follow", "`repeat` is `expand` now")
        assert "expand(" in written(found)[-1]
        assert "repeat" not in "".join(written(found))


@pytest.mark.parametrize("is_new", [True, False])
def test_what_upstream_still_has_has_no_new_name(tmp_path: Path, *, is_new: bool) -> None:
    """Its module only uses something else now."""
    after = IMPORTING.replace("repeat", "expand")
    both = OPS + OPS.replace("repeat", "expand")
    more = {"pkg/ops.py": (OPS if is_new else both, both)}
    for overlay in (wrapped("upstream(self, x) + repeat(x, n=1)"), wrapped("upstream(self, x) + len([repeat])")):
        found = of(tmp_path / str(len(overlay)), overlay, IMPORTING, after, more=more)
        assert (found.proposal, found.applies) == ("", False), found
        assert "whether `repeat` is `expand` now: pkg/ops.py still has `repeat`" in found.unknown, found.unknown


NAMING_NONE = MEMBER.format(mark='replaced(why="x")', body="return x + 1")


@pytest.mark.parametrize(
    ("after", "proposal"),
    [
        (GROUPS, "keep"),
        (BOTH, "keep"),
        (put(GROUPS, "x, self.n_groups", "x + 1, self.n_groups"), ""),
        (put(GROUPS, "= heads // kv", "= heads"), ""),
        (put(GROUPS, "x = repeat", "x = getattr(x, 'groups') or repeat"), ""),
        (put(CORE, "x, self.groups", "x + 1, self.groups"), ""),
        (put(BOTH, "range(times)", "range(getattr(x, 'groups'))"), ""),
    ],
)
def test_a_replacement_without_the_names_stays_where_they_alone_changed(
    tmp_path: Path, after: str, proposal: str
) -> None:
    found = of(tmp_path, NAMING_NONE, CORE, after)
    assert (found.kind, found.applies, found.proposal) == ("body changed", False, proposal)
    assert bool(found.change) == bool(proposal)


FAST = "from pkg.fast import repeat\n" + text(IMPORTING).partition("\n")[2]
OURS = "from pkg.ops import repeat\n" + text(CALLED)


@pytest.mark.parametrize(
    ("before", "after", "fast", "statement"),
    [
        (IMPORTING, FAST, OPS, "from pkg.fast import repeat"),
        (IMPORTING, FAST.replace("pkg.", "."), OPS, "from .fast import repeat"),
        # It is another function there, or upstream's module does not show that it is this one.
        (IMPORTING, FAST, OPS.replace("x, n", "n, x"), ""),
        (IMPORTING, FAST, OPS.replace("def repeat", "def other"), ""),
        (IMPORTING.replace("repeat", "other"), FAST, OPS, ""),
        (IMPORTING, FAST.replace("from", "if FAST:\n    from", 1), OPS, ""),
        (IMPORTING, FAST.replace("import repeat", "import repeat as other"), OPS, ""),
    ],
)
def test_an_operation_imports_from_where_upstream_does_now(
    tmp_path: Path, before: str, after: str, fast: str, statement: str
) -> None:
    found = of(tmp_path, OURS, before, after, more={"pkg/ops.py": (OPS, "x = 1\n"), "pkg/fast.py": ("", fast)})
    assert (found.applies, found.proposal) == (False, "follow" if statement else ""), found
    if statement:
        assert found.wanted
        assert [one.statement for one in found.wanted.imports] == [statement]
        assert found.change == f"`repeat` is imported by `{statement}` now"


def test_a_global_that_is_gone_without_a_successor_is_open(tmp_path: Path) -> None:
    """Else its undefined name would only be found when the port is locked."""
    after = IMPORTING.replace("    from pkg.ops import repeat\n", "").replace("repeat(x, self.groups)", "x")
    more = {"pkg/ops.py": (OPS, OPS)}
    found = of(tmp_path, CALLED, IMPORTING, after, more=more)
    assert (found.kind, found.applies, found.proposal) == ("reads changed", False, "")
    assert found.evidence.endswith("pkg/core.py has no `repeat` any more")
    # A star import may bring it.
    assert of(tmp_path / "star", CALLED, IMPORTING, f"    from pkg.ops import *\n{after}", more=more).applies


@pytest.mark.parametrize("put_in", ["x, step + self.groups)", "x, [step := 1, step][1])"])
def test_an_edit_may_have_a_local_name_that_was_a_global_one_once(tmp_path: Path, put_in: str) -> None:
    before = f"    def step(): pass\n{put(CORE, 'return repeat', 'step = 1; return repeat')}"
    after = before.replace("def step(): pass", "x = 1")
    assert of(tmp_path, edited("x, self.groups)", put_in), before, after).applies
    gone = put(after, "step = 1; ", "")
    assert of(tmp_path / "gone", edited("x, self.groups)", put_in), before, gone).applies == (":=" in put_in)


def test_a_local_name_of_an_edited_function_is_no_global(tmp_path: Path) -> None:
    """Upstream renames the global, and the local of that name stays."""
    before = put(
        CORE,
        "return repeat(x, self",
        "n = 2\n            return repeat(x, self",
        "def repeat",
        "n = 1\n\n    def repeat",
    )
    before += "\n    def other():\n        return n\n"
    after = put(before, "\n    n = 1", "\n    most = 1", "return n", "return most", "self.groups)", "self.groups, 1)")
    found = of(tmp_path, edited("self.groups)", "self.groups + n)"), before, after)
    assert (found.applies, found.proposal) == (False, "")
    found = of(
        tmp_path / "both",
        edited("self.groups)", "self.groups + n)"),
        before,
        put(after, "groups", "n_groups", ", 1)", ")"),
    )
    assert (found.proposal, written(found)[1:]) == ("follow", ["self.n_groups)", "self.n_groups + n)"])


@pytest.mark.parametrize(
    ("ours", "proposal"),
    [("repeat(x, 2)", "follow"), ("repeat(x, 2, 3)", ""), ("repeat(*x)", ""), ("map(repeat, x)", "")],
)
def test_a_function_of_another_package_is_called_as_upstream_calls_it(tmp_path: Path, ours: str, proposal: str) -> None:
    """Nothing is known of its parameters."""
    after = OUTER.replace("torch.nn", "torch.fast").replace("repeat", "expand")
    found = of(tmp_path, wrapped(ours), OUTER, after)
    assert (found.applies, found.proposal) == (False, proposal), found
    assert bool(proposal) or "`repeat`" in found.unknown


NAMES = ("first", "second", "times", "plus", "LIMIT")
RANDOM = """
class Attn:
    def __init__(self, heads, kv):
        self.first = {}
        self.second = {}

    def forward(self, x):
        return times(x, self.first) + plus(x, self.second) + LIMIT


def times(x, n):
    return x * n


def plus(x, n):
    return x + n


LIMIT = 3
"""
VALUES = (("heads", "heads // kv"), ("heads", "heads // kv"), ("heads // kv", "heads"), ("heads", "heads"))
PLAIN = ("self.{0}", "times(x, self.{0})", "plus(LIMIT, 1)", "LIMIT", "times(self.{0}, plus(x, LIMIT))")
DECOYS = (
    "[times for times in (1, 2)][0]",
    "(lambda LIMIT: LIMIT)(2)",
    "getattr(self, '{0}')",
    "dict({0}=1)['{0}']",
    "dict({0}=self.{0})[str('{0}')]",
    "len(f'{{self.{0}}}')",
    "len('times')",
    "(lambda self: self)(x) * self.{0}",
)
followed: Counter[str] = Counter()


def renamed_by_hand(code: str, names: Mapping[str, str]) -> str:
    """Return code with whole words exchanged."""
    return re.sub(r"\w+", lambda word: names.get(word.group(), word.group()), code)


def result(core: str, wrapper: str) -> object:
    """Return what a wrapped method of a module adds to upstream's result; None if upstream's fails itself."""
    space: dict[str, Any] = {"upstream": lambda *_: 0}
    exec(core, space)  # noqa: S102  # the text above
    try:
        space["Attn"](8, 2).forward(3)
    except (AttributeError, NameError, TypeError):
        return None
    exec(wrapper, space)  # noqa: S102  # likewise
    space["Attn"].forward = space["forward"]
    return space["Attn"](8, 2).forward(3)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
    st.permutations(["one", "two", "three", "four", "first", "second", "plus"]),
    st.sampled_from(VALUES),
    st.lists(st.sampled_from(PLAIN), min_size=1, max_size=2),
    st.sampled_from(["", "", *DECOYS]),
)
def _check(old: list[str], new: list[str], values: tuple[str, str], plain: list[str], decoy: str) -> None:
    """A wrapper that follows is the one renamed by hand, and computes what it computed."""
    names = dict(zip(old, new, strict=False))
    code = " + ".join(one.format("first") for one in filter(None, [*plain, decoy]))
    before, after = RANDOM.format(*VALUES[0]), renamed_by_hand(RANDOM.format(*values), names)
    with TemporaryDirectory() as folder:
        found = of(Path(folder), wrapped(code), before, after)
    if found.proposal:
        wrapper = f"def forward(self, x):\n    return upstream(self, x) + {code}\n"
        (made, *_) = written(found)
        assert decoy or made == renamed_by_hand(wrapper, names)
        assert result(after, made) in (None, result(before, wrapper))
    followed["follows" if found.proposal else "stays" if found.applies else "open"] += 1


def test_a_followed_rename_equals_renaming_by_hand() -> None:
    followed.clear()
    _check()
    assert min(followed["follows"], followed["open"]) >= 4, followed
