"""A layer carried to another pin: what its operations were written for is compared with what they meet there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from language.overlays import HEADER, git_diff, layer, mistakes, write
from language.pairs import text
from npu_overlays.contracts.contract_drift import drift_notices, standing_notices, without_lines
from npu_overlays.contracts.lockfile import load_lock, write_lock
from npu_overlays.errors import MergeError
from support.environment import Environment

from .locks import locked, told, write_locked

PATH = "pkg/m.py"
BASE = """
    import contextlib
    def ready(x):
        return x > 1
    def ed(x):
        return g(x, device='cuda')
    def rep(): return 1
    class A:
        def f(self): return 1
"""
OVERLAY = """
    @wrapped(why="w")
    def ready(x): return bool(upstream(x))
    @edited(("'cuda'", "'npu'"), why="e")
    def ed(): ...
    @replaced(why="r")
    def rep(): return 2
    class A:
        Z = added(1, why="a")
"""
DROP = f'[[tool.overlay.drop]]\nname = "{PATH}:ready"\nwhy = "w"\n'
EDIT = """
[[edit]]
paths = ["pkg/a.yaml"]
find = "1"
replace = "2"
why = "w"
"""


def test_a_pin_at_which_nothing_differs_is_silent(tmp_path: Path) -> None:
    moved = text(BASE).replace("return x > 1", "'''Doc.'''\n    return  (x > 1)  # same")
    assert told(tmp_path, {PATH: BASE}, {PATH: moved}, {f"tree/{PATH}": OVERLAY}) == []


def test_each_operation_that_meets_another_upstream_is_told_of_with_what_changed(tmp_path: Path) -> None:
    now = """
        import contextlib
        @contextlib.contextmanager
        def ready(x): yield x > 1
        def ed(*, y, x=None): raise ValueError(x, y, 'cuda')
        def rep() -> int: return 1
        @dataclass
        class A:
            def f(self): return 1
    """
    with pytest.raises(MergeError, match="is a plain function, upstream's is a generator"):
        told(tmp_path, {PATH: BASE}, {PATH: now}, {f"tree/{PATH}": OVERLAY})
    plain = text(now).replace("yield x > 1", "return x > 1").encode()
    since = "since pkg@1111111 upstream changed its"
    assert told(tmp_path, {PATH: BASE}, {PATH: plain}, {f"tree/{PATH}": OVERLAY}) == [
        f"pkg@2222222: look at the wrapped `{PATH}:ready`: {since} decorators (`@contextlib.contextmanager` is new)",
        f"pkg@2222222: look at the edited `{PATH}:ed`: {since} signature (`(x)` → `(*, y, x=None)`), body",
        f"pkg@2222222: look at the replaced `{PATH}:rep`: {since} annotations",
        f"pkg@2222222: look at the added `{PATH}:A.Z`: {since} class (`A()` → `@dataclass A()`)",
    ]


def test_what_the_overlay_says_itself_was_written_for_its_own_pin(tmp_path: Path) -> None:
    now = text(BASE).replace("x > 1", "x > 2").replace("return 1", "return 3")
    own = {f"tree/{PATH}": '@wrapped(why="w")\ndef ready(x): return upstream(x)\n'}
    files = {f"tree/{PATH}": OVERLAY}
    assert told(tmp_path, {PATH: BASE}, {PATH: now}, files, own, config=DROP) == [
        f"pkg@2222222: look at the replaced `{PATH}:rep`: since pkg@1111111 upstream changed its body"
    ]


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("a.yaml", "a: 1\n", "# new\nb: 2\na: 1  # same\n", []),
        ("a.yaml", "a: 1\n", "b:\n  a: 1\n", ["place (`a a: 1` → `b.a a: 1`)"]),
        ("a.yaml", "a: 1\n", "a: 1x\n", ["place (`a a: 1` → `a a: 1x`)"]),
        ("a.yaml", "a:\n- x: 1\n", "a:\n- y: 2\n- x: 1\n", []),
        (
            "a.yaml",
            "l:\n  - n: p\n    a: 1\n  - n: q\n",
            "l:\n  - n: p\n  - n: q\n    a: 1\n",
            ["place (`l.[n: p].a a: 1` → `l.[n: q].a a: 1`)"],
        ),
        (
            "a.yaml",
            "l:\n  - n: p\n    a: 1\n",
            "l:\n  - n: q\n  -\n    # new\n    n: p  # same\n    k: 2\n    a: 1\n",
            [],
        ),
        ("a.yaml", "a:\n  - x: 1\n", "b:\n  - x: 1\n", ["place (`a.[].x - x: 1` → `b.[].x - x: 1`)"]),
        ("a.txt", "a\nb\nc\n1\nd\ne\nf\n", "new\nb\nc\n1\n\n  d\ne\nnew\n", []),
        ("a.txt", "a\nb\nc\n1\nd\ne\nf\n", "a\nnew\nc\n1\nd\ne\nf\n", ["body"]),
        ("a.txt", "a\n1\n", "a\n1 b\n", ["body"]),
    ],
)
def test_a_substitution_is_compared_by_what_is_around_it(
    tmp_path: Path, name: str, before: str, after: str, said: list[str]
) -> None:
    path, config = f"pkg/{name}", EDIT.replace("a.yaml", name)
    found = told(tmp_path, {path: before}, {path: after}, {"tree/pkg/n.md": b"n"}, base=config)
    what = f"pkg@2222222: look at the edit `{path}` of `1`: since pkg@1111111 upstream changed its"
    assert found == [f"{what} {one}" for one in said]


def test_what_stands_in_the_lock_is_what_is_told_each_time(tmp_path: Path) -> None:
    root = tmp_path / "o"
    layer(root, {f"tree/{PATH}": OVERLAY})
    write_locked(root, "base", {PATH: BASE}, "1.0")
    now = {PATH: text(BASE).replace("x > 1", "x > 2").replace("return 1", "return 3")}
    made = locked(root, write(root, {}, name="new"), now, "1.1")
    assert standing_notices(*made) == drift_notices(*made)
    assert len(standing_notices(*made)) == 2
    content, lock, _ = made
    write_lock(content.overlay.folder, replace(lock, told=tuple(standing_notices(*made))))
    assert load_lock(content.overlay).told == tuple(drift_notices(*made))
    older = locked(root, write(root, {}, name="newest"), now, "0.9")
    assert len(drift_notices(*older)) == 2  # once, as it is locked for the first time
    assert standing_notices(*older) == []
    assert without_lines("look at o/tree/m.py:15, `x` (m.py:f); o/shared/n.py:7, `y`") == (
        "look at o/tree/m.py, `x` (m.py:f); o/shared/n.py, `y`"
    )
    before = replace(lock, commit="4" * 40)
    assert drift_notices(*made, before=before) == []
    assert len(standing_notices(*made)) == 2


def test_without_a_readable_lock_beside_it_is_said_how_to_get_one(tmp_path: Path) -> None:
    root = tmp_path / "o"
    layer(root, {f"tree/{PATH}": OVERLAY})
    write(root, {})
    content, lock, upstream = locked(root, write(root, {}, name="new"), {PATH: BASE})
    for said in ("is missing", "has lock-version 1, and this npu-overlays reads 4"):
        (notice,) = drift_notices(content, lock, upstream)
        assert notice == (
            f"pkg@2222222: what pkg@1111111 was written for is not known (overlay.lock: {said}), so nothing was "
            f"compared with it: run `npu-overlays lock {root}/pkg@1111111`, then `npu-overlays lock {root}/pkg@2222222`"
        )
        (root / "pkg@1111111/overlay.lock").write_text("lock-version = 1\n")


def test_an_operation_no_other_pin_was_locked_with_is_told_of(tmp_path: Path) -> None:
    root = tmp_path / "o"
    layer(root, {f"tree/{PATH}": OVERLAY})
    content, lock, upstream = locked(root, write(root, {}), {PATH: BASE})
    kept = [entry for entry in lock.contracts if entry.symbol != "ed"]
    write_lock(content.overlay.folder, replace(lock, contracts=tuple(kept)))
    content, lock, upstream = locked(root, write(root, {}, name="new"), {PATH: BASE}, "1.1")
    assert drift_notices(content, lock, upstream) == [
        f"pkg@2222222: look at the edited `{PATH}:ed`: no lock says what it was written for"
    ]


def test_the_nearest_earlier_pin_counts(tmp_path: Path) -> None:
    root = tmp_path / "o"
    layer(root, {f"tree/{PATH}": OVERLAY})
    second = text(BASE).replace("x > 1", "x > 2")
    write_locked(root, "base", {PATH: BASE}, "1.0")
    write_locked(root, "new", {PATH: second}, "1.10")
    newest = write(root, {}, name="newest")
    for version in ("1.10", "1.11"):
        content, lock, upstream = locked(root, newest, {PATH: second}, version)
        assert drift_notices(content, lock, upstream) == []
    content, lock, upstream = locked(root, newest, {PATH: second}, "1.9")
    assert drift_notices(content, lock, upstream) == [
        f"pkg@3333333: look at the wrapped `{PATH}:ready`: since pkg@1111111 upstream changed its body"
    ]


def test_a_pin_older_than_all_others_is_compared_with_the_next_one_when_it_is_first_locked(tmp_path: Path) -> None:
    root = tmp_path / "o"
    layer(root, {f"tree/{PATH}": OVERLAY})
    write_locked(root, "base", {PATH: BASE}, "1.0")
    content, lock, upstream = locked(
        root, write(root, {}, name="new"), {PATH: text(BASE).replace("x > 1", "x > 0")}, "0.9"
    )
    assert drift_notices(content, lock, upstream) == [
        f"pkg@2222222: look at the wrapped `{PATH}:ready`: since pkg@1111111 upstream changed its body"
    ]
    write_lock(content.overlay.folder, lock)
    assert drift_notices(content, lock, upstream) == []


def test_an_operation_is_compared_where_it_applies(tmp_path: Path) -> None:
    """A variant for later versions was not written for what an earlier pin holds."""
    root = tmp_path / "o"
    variants = """
        @wrapped(why="old", until="2")
        def ready(x): return upstream(x)
        @wrapped(why="new", since="2")
        def ready(x): return bool(upstream(x))
    """
    layer(root, {f"tree/{PATH}": variants})
    write_locked(root, "base", {PATH: BASE}, "1.0")
    changed = {PATH: text(BASE).replace("x > 1", "x > 2")}
    content, lock, upstream = locked(root, write(root, {}, name="new"), changed, "2.0")
    assert drift_notices(content, lock, upstream) == []
    content, lock, upstream = locked(root, write(root, {}, name="new"), changed, "2.0.dev0")
    assert len(drift_notices(content, lock, upstream)) == 1


def test_a_pin_changed_in_place_is_compared_with_the_lock_that_was_there(tmp_path: Path) -> None:
    root = tmp_path / "o"
    _, before, _ = locked(root, write(root, {f"tree/{PATH}": OVERLAY}), {PATH: BASE})
    name = write(root, {f"tree/{PATH}": OVERLAY}, name="new")
    content, lock, upstream = locked(root, name, {PATH: text(BASE).replace("x > 1", "x > 2")})
    assert drift_notices(content, lock, upstream, before=before) == [
        f"pkg@2222222: look at the wrapped `{PATH}:ready`: since overlay.lock of 1111111 upstream changed its body"
    ]


def test_of_an_emptied_module_it_is_told_what_came_into_it(tmp_path: Path) -> None:
    before, now = {PATH: "a = 1\nb = 1\n"}, {PATH: "b = 2\n" + "".join(f"c{one} = 1\n" for one in range(7))}
    empty = {f"tree/{PATH}": 'deleted("*", why="w")\n'}
    assert told(tmp_path, before, {PATH: "b = 2\n"}, empty) == []
    assert told(tmp_path, before, now, empty) == [
        (
            f"pkg@2222222: look at the emptied `{PATH}`: since pkg@1111111 upstream put "
            "`c0`, `c1`, `c2`, `c3`, `c4`, … there"
        )
    ]


FORWARD = "    def forward(self, x):\n        y = x * 2\n        z = y + 1\n        return z\n"
MODEL = f"class B:\n    def before(self): pass\n{FORWARD}    def after(self): pass\n"


def _patch(environment: Environment, before: str, after: str) -> dict[str, bytes]:
    return {"patches/p.patch": HEADER.encode() + git_diff(environment, {PATH: before.encode()}, {PATH: after.encode()})}


def test_a_patch_that_changes_another_symbol_than_it_was_written_for_is_an_error(
    tmp_path: Path, environment: Environment
) -> None:
    patch = _patch(environment, MODEL, MODEL.replace("y + 1", "y + 2"))
    assert told(tmp_path, {PATH: MODEL}, {PATH: f"C = 1\n{MODEL}"}, patch) == []
    twin = MODEL.replace("class B", "class A") + MODEL.replace("y + 1", "y + 3")
    with pytest.raises(MergeError) as caught:
        told(tmp_path, {PATH: MODEL}, {PATH: twin}, patch)
    (mistake,) = mistakes(caught.value)
    assert mistake == (
        "pkg/patches/p.patch: changes `pkg/m.py:A.forward` (replaced) here, but `pkg/m.py:B.forward` "
        "(replaced) in pkg@1111111; leave it out by [[tool.overlay.drop]] and make it again for this pin, or write it "
        "as operations, which name their symbols"
    )


def test_a_patched_symbol_that_upstream_changed_elsewhere_is_told_of(tmp_path: Path, environment: Environment) -> None:
    body = "def f():\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n    return a\n"
    patch = _patch(environment, body, body.replace("a = 1", "a = 2"))
    assert told(tmp_path, {PATH: body}, {PATH: body.replace("return a", "return b")}, patch) == [
        "pkg@2222222: look at the patch `pkg/m.py:f`: since pkg@1111111 upstream changed its body"
    ]


def test_a_patch_of_another_file_is_compared_as_a_whole(tmp_path: Path, environment: Environment) -> None:
    lines = b"".join(b"%d\n" % number for number in range(9))
    changed = git_diff(environment, {"pkg/a.txt": lines}, {"pkg/a.txt": lines.replace(b"1", b"one")})
    patch = {"patches/p.patch": HEADER.encode() + changed}
    assert told(tmp_path, {"pkg/a.txt": lines}, {"pkg/a.txt": lines.replace(b"8", b"eight")}, patch) == [
        "pkg@2222222: look at the patch `pkg/a.txt:a.txt`: since pkg@1111111 upstream changed its body"
    ]
