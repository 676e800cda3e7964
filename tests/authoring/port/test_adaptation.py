"""Adaptation: a wrapper follows its function's parameters as far as syntax proves it, and computes what it computed."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest

from npu_overlays.authoring.port.adaptation import adapted
from npu_overlays.authoring.port.renamed_words import UnprovenError, function_of
from npu_overlays.model.signature_changes import SignatureChange, signature_change
from npu_overlays.overlay.operations import Edit, Operation, Reason

OLD = "def f(x, old=None, *, flag=1, **rest):\n    return [x, old, flag, rest]\n"
HAND = "def f(x, old=None, *, flag=1, **rest):\n    return upstream(x, old, flag=flag, **rest)\n"
COMPUTES = "def f(x, y=2):\n    if x:\n        return x + y\n    return upstream(x, y)\n"


def put(text: str, *pairs: str) -> str:
    """Return a text with others in it: after it come what is replaced and by what, in turns."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        text = text.replace(old, new)
    return text


def change(before: str, after: str, *, decorated: bool = True) -> SignatureChange:
    """Return how a function changed; what stands above the last one in a text is its module."""
    first, module = ast.parse(before).body[-1], ast.parse(after)
    second = module.body[-1]
    assert isinstance(first, ast.FunctionDef)
    assert isinstance(second, ast.FunctionDef)
    return signature_change(first, second, module, decorated=decorated)


def followed(wrapper: str, before: str, after: str) -> str:
    """Return a wrapper's text as it follows a change."""
    operation = Operation(
        action="wrapped", path="a.py", symbol="f", kind="function", text=wrapper,
        reason=Reason(why="w"), layer="", where="a.py:1",
    )  # fmt: skip
    return adapted(operation, change(before, after)).text


LAST, OTHER_LAST = "def f(x, y=2):\n    return x - y\n", "def f(x, y):\n    return x + y\n"
OTHER_DEFAULT = OTHER_LAST.replace("y)", "y=2)", 1)
ALWAYS_CALLING = (
    "def f(x, y=2):\n    return upstream(x, y) * 2\n",
    "def f(x, y=2):\n    z = upstream(x, y)\n    return z * 2\n",
    "def f(x, y=2):\n    if x:\n        return upstream(0, y)\n    return upstream(x, y)\n",
    "def f(x, y=2):\n    with lock:\n        return upstream(x, y)\n",
)
ELSEWHERE = (
    COMPUTES,
    "def f(x, y=2):\n    if x:\n        upstream(x, y)\n    return x\n",
    "def f(x, y=2):\n    try:\n        return upstream(x, y)\n    except E:\n        return x\n",
    "def f(x, y=2):\n    if x:\n        upstream(x, y)\n",
    "def f(x, y=2):\n    with lock:\n        if x:\n            return x\n        return upstream(x, y)\n",
)
UNPACKED = ("def f(x, old=None): return old\n", "def f(x, new=None): return new\n")
PLAIN = "def f(x, y):\n    return upstream(x, y)\n"
SWAPPED = "def f(x, z, y):\n    return upstream(x, y=y, z=z)\n"
OWN = "def f(x=1, *, own=1):\n    return upstream(x) + own\n"
MORE = OLD.replace("old=None", "old=None, z=1")
OPEN = "def f(\n    x: int,\n    old: str = None,\n):\n    return upstream(\n        x,\n        old=old,\n    )\n"
RENAMED = OLD.replace("old", "new")
ANNOUNCED = '@deprecate("old", new_name="new")\n' + RENAMED.replace("[x, new", "[1, new")


@pytest.mark.parametrize(
    ("wrapper", "before", "after", "expected"),
    [
        (HAND, OLD, RENAMED, HAND.replace("old", "new")),
        (HAND, OLD, ANNOUNCED, HAND.replace("old", "new")),
        (
            put(HAND, "return", "print(rest)\n    return"),
            OLD,
            RENAMED,
            put(HAND, "return", "print(rest)\n    return", "old", "new"),
        ),
        (
            HAND.replace(" old, flag", " old=old, flag"),
            OLD,
            RENAMED,
            put(HAND, "old", "new", " new, flag", " new=new, flag"),
        ),
        (
            put(HAND, "return", "rest['other'] = rest['one']\n    return"),
            OLD,
            OLD.replace("flag=1", "flag=1, more=1"),
            put(
                HAND,
                "return",
                "rest['other'] = rest['one']\n    return",
                "flag=1",
                "flag=1, more=1",
                "g,",
                "g, more=more,",
            ),
        ),
        (HAND, OLD, OLD.replace("old=None", "old"), HAND.replace("old=None", "old")),
        (HAND, OLD, OLD.replace("old=None", "old=3"), HAND.replace("old=None", "old=3")),
        (HAND, OLD, OLD.replace("old=None", "old=NAME"), HAND.replace("old=None", "old=...")),
        (
            HAND,
            OLD,
            OLD.replace("old=None", "old=None, more=1"),
            put(HAND, "old=None", "old=None, more=1", "flag=flag", "flag=flag, more=more"),
        ),
        (
            HAND,
            OLD,
            OLD.replace("x, old=None, *, flag=1", "x, *, flag=1, old=None"),
            put(HAND, "x, old=None, *, flag=1", "x, *, flag=1, old=None", "x, old,", "x, old=old,"),
        ),
        (
            HAND,
            OLD,
            put(OLD, " old=None,", "", " old,", ""),
            put(HAND, " old=None,", "", " old,", ""),
        ),
        (COMPUTES, "def f(x, y=2):\n    return x\n", "def f(x, y):\n    return x\n", COMPUTES.replace("y=2", "y")),
        *((text, LAST, OTHER_LAST, text.replace("y=2", "y")) for text in ALWAYS_CALLING),
        (PLAIN.replace("y)", "y, z)"), "def f(x, y, z): pass", "def f(x, z, y): pass", SWAPPED),
        (PLAIN, "def f(x, y): pass\n", "def f(x, y=1): return\n", PLAIN.replace("y)", "y=1)", 1)),
        (OWN, "def f(x=1): pass\n", "def f(x): return\n", OWN.replace("x=1", "x")),
        (
            OPEN,
            "def f(x, old=None):\n    return old\n",
            "def f(x, new=None, last=0):\n    return new\n",
            OPEN.replace("old", "new")
            .replace("None,\n", "None,\n    last=0,\n")
            .replace("new,\n", "new,\n        last=last,\n"),
        ),
    ],
)
def test_a_wrapper_follows(wrapper: str, before: str, after: str, expected: str) -> None:
    assert followed(wrapper, before, after) == expected


BODY = "def f(x, old=None, *, flag=1, **rest):\n    {}\n    return upstream(x, old, flag=flag, **rest)\n"
BINDING = (
    "import os as old",
    "def old(): pass",
    "class old: pass",
    "try: pass\n    except E as old: pass",
    "match x:\n        case [*old]: pass",
    "match x:\n        case {'a': 1, **old}: pass",
    "match x:\n        case 1 as old: pass",
    "global old",
)
LESS, SWAP = "def f(a, b):\n    return a - b\n", "def f(b, a):\n    return b - a\n"
TENFOLD = "def f(a, b):\n    return upstream(a * 10, b)\n"
MAYBE_OTHERS = (
    SWAP,
    "def f(b, c):\n    return b - c\n",
    "def f(b, a):\n    return b * a\n",
    "def f(b, c):\n    return c\n",
    "def f(a, n, b):\n    return a - n\n",
)
READING = (
    "print(rest)",
    "x = x or rest",
    "rest[x] = 1",
    "rest['z'] = 1",
    "if rest: x = 1",
    "upstream(x, rest)",
)
ANY, MORE_OF_ANY = "def f(x, y): pass", "def f(x, y, z=1): pass"
CHANGING = (
    "x.sort()",
    "x[0].a = 1",
    "x += 1",
    "x.a += 1",
    "del x[0]",
    "change(x)",
    "change(*x)",
    "a = x; a.sort()",
    "for a in x: a.b = 1",
    "with x: pass",
    "if x.pop(): pass",
    "a = lambda: x.sort(); a()",
)
STARRED = "def f(x, *y):\n    return upstream(x, *y)\n"


@pytest.mark.parametrize(
    ("wrapper", "before", "after", "why"),
    [
        # Another body, and no decorator that says so: that the one took the place of the other is not proven.
        (HAND.replace("return", "print(old)\n    return"), OLD, RENAMED.replace("[x", "[1"), "uses `old`"),
        (HAND.replace("return", "new = 1\n    return"), OLD, RENAMED, "has `new` already"),
        (HAND.replace("return", "rest.pop('old', 1)\n    return"), OLD, RENAMED, "by texts"),
        (HAND.replace("return", "one = lambda old: old\n    return"), OLD, RENAMED, "another `old`"),
        (HAND.replace("return", "locals()\n    return"), OLD, RENAMED, "by texts"),
        (HAND.replace("return upstream(", "return call(upstream, "), OLD, RENAMED, "does more with `upstream`"),
        (COMPUTES, "def f(x, y=2): pass\n", "def f(x, y=2, z=3): pass\n", "returns what it makes itself"),
        (COMPUTES, "def f(x, y): pass\n", "def f(x, y=2): pass\n", "may be left out now"),
        (
            "def f(x):\n    x = x + 1\n    return upstream(x)\n",
            "def f(x): pass\n",
            "def f(x, z=1): pass\n",
            "more with `x`",
        ),
        (HAND, OLD, OLD.replace(", **rest", ""), "other `*` or `**`"),
        ("def f(x, **y):\n    return upstream(x)\n", "def f(x, **y): pass", "def f(x, **z): return", "other `*`"),
        (HAND.replace("x, old,", "*[x, old],"), OLD, MORE, "by `*`"),
        (HAND.replace("upstream(x,", "upstream(\n        x,  # first\n       "), OLD, MORE, "comment"),
        (HAND.replace("old, flag", "old + 1, flag"), OLD, OLD.replace(" old=None,", ""), "a value of its own"),
        (put(HAND, ", **rest)", ", own=3, **rest)", "*,", "*, own=3,"), OLD, MORE, "of its own"),
        (PLAIN.replace("x, y)\n", "x, y=1)\n"), "def f(x, y): pass", "def f(x): return", "a value of its own"),
        *((BODY.format(line), OLD, RENAMED, "another `old`") for line in BINDING),
        *((BODY.format(line.replace("old", "new")), OLD, RENAMED, "has `new` already") for line in BINDING),
        *((TENFOLD, LESS, after, "exchanged names") for after in MAYBE_OTHERS),
        *((put(HAND, "return", f"{line}\n    return"), OLD, MORE, "more with `rest`|by texts") for line in READING),
        (put(HAND, ", **rest)", ")", "flag=1)", "flag=1, **rest)"), OLD, MORE, "more with `rest`"),
        (put(HAND, "return", "print(rest)\n    return"), OLD, put(OLD, " old=None,", "", "x, old", "x"), "with `rest`"),
        *((put(PLAIN, "return", f"{line}\n    return"), ANY, MORE_OF_ANY, "more with `x`") for line in CHANGING),
        (put(PLAIN, "(x, y)\n", "(x + 1, y)\n"), ANY, MORE_OF_ANY, "more with `x`"),
        (put(PLAIN, "(x, y)\n", "(a, y)\n", "return", "a = x\n    return"), ANY, MORE_OF_ANY, "more with `x`"),
        (put(STARRED, "upstream(x, *y", "upstream(x"), STARRED, STARRED.replace("x,", "x, z=1,"), "`y` holds other"),
        ("def f(x, y):\n    return call(upstream, x, y)\n", ANY, "def f(y, x): pass", "more with `upstream`"),
        ("def f(x, y=1):\n    return upstream(x)\n", "def f(x, y=1): return y", "def f(x, y): return y", "lacks `y`"),
        ("def f(x, /):\n    return upstream(x)\n", "def f(x, /): pass", "def f(z, x, /): pass", "by position"),
        (put(HAND, "return", "self.f(x, old=1)\n    return"), OLD, RENAMED, "another `f`"),
        (put(HAND, "old=None", "old: old = None"), OLD, RENAMED, "another `old`"),
        ("def f(x, old=None):\n    d = dict(old=old)\n    return upstream(x, **d)\n", *UNPACKED, "by `*` or `**`: `d`"),
        (HAND, OLD, f"@property\n{OLD}", "decorates"),
        (HAND, f"@cached\n{OLD}", OLD, "decorates"),
        *((text, LAST, OTHER_LAST, "its body changed") for text in ELSEWHERE),
        *((text, f"@hub(1)\n{LAST}", f"@kernel(1)\n{OTHER_DEFAULT}", "its body changed") for text in ELSEWHERE),
    ],
)
def test_what_syntax_does_not_prove_is_for_a_person(wrapper: str, before: str, after: str, why: str) -> None:
    with pytest.raises(UnprovenError, match=why.replace("*", r"\*")):
        followed(wrapper, before, after)


@pytest.mark.parametrize(("symbol", "follows"), [("f", True), ("A.f", False)])
def test_what_a_class_renames_is_not_given_by_name(symbol: str, *, follows: bool) -> None:
    text = "def f(self, x):\n    return upstream(self, x)\n"
    operation = Operation(
        action="wrapped", path="a.py", symbol=symbol, kind="function", text=text,
        reason=Reason(why="w"), layer="", where="a.py:1",
    )  # fmt: skip
    moved = change("def f(self, x): return x\n", "def f(self, x, __given): return x\n")
    if follows:
        assert "__given=__given" in adapted(operation, moved).text
    else:
        with pytest.raises(UnprovenError, match="`__given` by name"):
            adapted(operation, moved)


def test_a_decorator_in_the_place_of_another_changes_nothing() -> None:
    before, after = (f'@{name}("f")\n{OLD}' for name in ("hub", "kernel"))
    assert followed(HAND, before, after) == HAND
    assert str(change(before, after)) == "upstream's decorator `@hub('f')` is `@kernel('f')` now"
    # As long as upstream names the other, that is not its new name; nor with other arguments.
    for other in (f"from a import hub\nx = hub\n{after}", after.replace('"f"', '"g"')):
        with pytest.raises(UnprovenError, match="decorates"):
            followed(HAND, before, other)


def test_only_a_wrapper_follows() -> None:
    operation = Operation(
        action="replaced",
        path="a.py",
        symbol="f",
        kind="function",
        text=OLD,
        reason=Reason(why="w"),
        layer="",
        where="",
    )
    with pytest.raises(UnprovenError, match="does the work itself"):
        adapted(operation, change(OLD, RENAMED))
    with pytest.raises(UnprovenError, match="no function"):
        function_of("class A: pass\n")


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (RENAMED, "`old` is `new` now"),
        (ANNOUNCED, "`old` is `new` now"),
        (RENAMED.replace("[x, new", "[new, x"), "`new` is new; `old` is gone"),
        (OLD.replace("**rest", "**more"), "`**more` is new; `**rest` is gone"),
        (
            OLD.replace("*, flag", "*old, flag").replace(" old=None,", ""),
            "its parameters stand as (x, *old, flag, **rest)",
        ),
        (OLD.replace("old=None", "old"), "`old` has no default any more"),
        (OLD.replace("(x", "(x=0"), "`x` has a default now"),
        (OLD.replace("old=None", "old=2"), "`old` is 2 by default now, not None"),
        (OLD.replace("x, old=None, *", "x, *, old=None"), "its parameters stand as (x, *, old, flag, **rest)"),
        (f"@cached\n{OLD}", "upstream's decorator `@cached` is new"),
        (f"@cached\n@fast\n{OLD}", "upstream's decorators `@cached` `@fast` are new"),
    ],
)
def test_a_change_is_said_by_its_difference(after: str, said: str) -> None:
    assert str(change(OLD, after)) == said


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((1,), {}), ((1, 2), {"flag": 5}), ((1, 2), {"other": 4})]


@pytest.mark.parametrize(
    "after",
    [
        RENAMED,
        OLD.replace("old=None", "old=None, more=7").replace("[x,", "[more, x,"),
        OLD.replace("old=None", "old=3"),
        OLD.replace(" old=None,", " last=2, old=None,"),
    ],
)
def test_what_follows_gives_what_upstream_gives(after: str) -> None:
    """The wrapper hands on all that it is given: whatever it is called with, the result is upstream's."""
    spaces: dict[str, dict[str, Any]] = {"upstream": {}, "wrapper": {}}
    exec(after, spaces["upstream"])  # noqa: S102  # the texts above
    spaces["wrapper"]["upstream"] = spaces["upstream"]["f"]
    exec(textwrap.dedent(followed(HAND, OLD, after)), spaces["wrapper"])  # noqa: S102
    for arguments, named in CALLS:
        results = [space["f"](*arguments, **named) for space in spaces.values()]
        assert results[0] == results[1]


@pytest.mark.parametrize(
    ("find", "put_in", "expected"),
    [
        ("[x, old, flag]", "[x, old.old, flag]", ("[x, new, flag]", "[x, new.old, flag]")),
        ("g(old=old)", "g(old=old or 1)", ("g(new=new)", "g(new=new or 1)")),
        ("'old', old", "'old'", ("'old', new", "'old'")),
        ("f(old)", "f(old=1)", "keyword `old`"),
        ("f(old)", "f(old, new)", "has `new` already"),
        ("f(old)", "f(old, kw['old'])", "by `'old'`"),
        ("f(old)", 'f(old, f"{old}")', "by `f"),
        ("f(old)", "f(old, locals())", "by `locals`"),
        ("f(old)", "f(old, kw['new'])", "by `'new'`"),
        ("f(old)", "import old; f(old)", "another parameter's name"),
        ("f(old)", "f(old, lambda old: 1)", "another parameter's name"),
        ("x = f(old)", "try: x = f(old)\nexcept E as old: raise", "another parameter's name"),
        ("g(old=old)", "g(old=h(old=old))", "keyword `old`"),
        ("a.g(old=old)", "a.g(1, old=old)", ("a.g(new=new)", "a.g(1, new=new)")),
    ],
)
def test_an_edit_follows(find: str, put_in: str, expected: tuple[str, str] | str) -> None:
    operation = Operation(
        action="edited",
        path="a.py",
        symbol="f",
        kind="function",
        edits=(Edit(find=find, replace=put_in),),
        reason=Reason(why="w"),
        layer="",
        where="",
    )
    if isinstance(expected, str):
        with pytest.raises(UnprovenError, match=expected):
            adapted(operation, change(OLD, RENAMED))
        return
    (edit,) = adapted(operation, change(OLD, RENAMED)).edits
    assert (edit.find, edit.replace) == expected
