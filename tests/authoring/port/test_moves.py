"""A new target is proposed only where the calls went: what callers and names of the old target say of the new one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from authoring.port.test_verdicts import became, of, substituted
from language.overlays import load, write
from language.pairs import source_tree
from npu_overlays.authoring.matcher import COMMON
from npu_overlays.authoring.port.changed_definitions import ChangedDefinitions
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import DefinedNames, snapshot_of
from support.environment import Environment
from support.wheels import write_wheel

BODY = "    a = x + 1\n    b = a * 2\n    c = b - 3\n    return c\n"
HALF = "    a = x + 1\n    b = a * 2\n    return b\n"
REST = "def rest(b):\n    c = b - 3\n    return c\n"
WHOLE = f"def f(x):\n{BODY}"
WRAP_F = '@wrapped(why="x")\ndef f(x):\n    return upstream(x) * 10\n'
LOGS = "    log(1)\n    log(2)\n    log(3)\n"


def judged(tmp_path: Path, before: dict[str, str], after: dict[str, str], overlay: str = WRAP_F) -> Verdict:
    """Return the verdict on a wrapper of `f` in pkg/engine.py; the files are named without their folder.

    Each file that is there before and after has something left of what it had.
    """
    trees = [{f"pkg/{name}.py": f"LEFT = 0\n{text}" for name, text in files.items()} for files in (before, after)]
    return became(tmp_path, trees[0], overlay, trees[1])


@pytest.mark.parametrize(
    ("now", "proposal", "unknown"),
    [
        ("    return old_f(x)\n", "retarget", ""),
        ("    return old_f(x) if x else fast(x)\n", "", "whether `fast`, which its caller `go` calls now, needs"),
        ("    if x:\n        return old_f(x)\n    return fast(x)\n", "", "`fast`"),
        (f"    if x:\n        return fast(x)\n{LOGS}    return old_f(x)\n", "", "`fast`"),
        (f"    y = old_f(x)\n{LOGS}    return fast(y)\n", "", "`fast`"),
        (f"    log(fast(x.size))\n{LOGS}    return old_f(x)\n", "retarget", ""),
        ("    if x:\n        raise fast(x)\n    return old_f(x)\n", "retarget", ""),
        ("    return known(old_f(x))\n", "retarget", ""),
    ],
    ids=["all", "or-another", "another-below", "in-its-place", "its-result", "beside", "raised", "not-new"],
)
def test_the_same_code_under_a_new_name_that_is_called_no_more_alone(
    tmp_path: Path, now: str, proposal: str, unknown: str
) -> None:
    fast = "def fast(x):\n    return fused(x)\n"
    known = "def known(x):\n    return x\n"
    after = f"def old_f(x):\n{BODY}\n\n{known}\n\n{fast}\n\ndef go(x):\n{now}"
    before = f"{WHOLE}\n\n{known}\n\ndef go(x):\n    return f(x)\n"
    found = judged(tmp_path, {"engine": before}, {"engine": after})
    assert (found.kind, found.proposal, found.to) == ("renamed", proposal, "pkg/engine.py:old_f")
    assert unknown in found.unknown


@pytest.mark.parametrize(
    ("use", "imported", "proposal"),
    [
        ("f(x)", "f", "retarget"),
        ("rest(first(x))", "f as first, rest", ""),
        ("tail(f(x))", "f", ""),
        ("f(x) or tail", "f", "retarget"),
        ("partial(f, x)()", "f", "retarget"),
        ("_kept(f(x))", "f", "retarget"),
    ],
)
@pytest.mark.parametrize("caller", ["engine", "user"])
def test_a_function_that_moved_with_half_of_its_code(
    tmp_path: Path, caller: str, use: str, imported: str, proposal: str
) -> None:
    """What calls it calls the other half, too, which is beside it or in a third file."""
    before = {"engine": WHOLE, "user": "y = 1\n", "fourth": "def kept(b):\n    return b\n"}
    calling = "def g(x):\n    return f(x)\n"
    before[caller] = f"{WHOLE}\n\n{calling}" if caller == "engine" else f"from pkg.engine import f\n\n\n{calling}"
    third = "from functools import partial\nfrom pkg.fourth import _kept\nfrom pkg.third import tail\n"
    after = {"engine": "y = 1\n", "user": "y = 1\n", "other": f"def f(x):\n{HALF}\n\n{REST}"}
    after |= {"third": f"def tail(b):\n{REST.partition(':')[2]}", "fourth": "def _kept(b):\n    return b\n"}
    after[caller] = f"from pkg.other import {imported}\n{third}\n\ndef g(x):\n    return {use}\n"
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal, found.to) == ("moved", proposal, "pkg/other.py:f"), found


def test_a_member_that_moved_with_its_class_and_half_of_its_code(tmp_path: Path) -> None:
    """Its caller moved along."""
    member = "class A:\n    size = make(1, 2, 3)\n\n    def go(self, x):\n        return {}\n\n    def f(self, x):\n{}"
    before = member.format("self.f(x)", BODY.replace("    ", "        "))
    after = member.format("self.rest(self.f(x))", HALF.replace("    ", "        "))
    after += "\n    def rest(self, b):\n        return b - 3\n"
    overlay = 'class A:\n    @wrapped(why="x")\n    def f(self, x):\n        return upstream(self, x)\n'
    found = judged(tmp_path, {"engine": before}, {"engine": "y = 1\n", "other": after}, overlay)
    assert (found.kind, found.proposal, found.to) == ("moved", "", "pkg/other.py:A.f"), found


def test_callers_of_functions_that_were_renamed_together_call_no_others(tmp_path: Path) -> None:
    other = "def other(y):\n    return [y, y + 1, len(y)]\n"
    before = f"{WHOLE}\n\n{other}\n\ndef go(x):\n    return f(x), other(x)\n"
    after = before.replace("f(x)", "_f(x)").replace("def _f", "def _f").replace("other(", "second(")
    found = judged(tmp_path, {"engine": before}, {"engine": after})
    assert (found.kind, found.proposal, found.to) == ("renamed", "retarget", "pkg/engine.py:_f"), found


def test_what_another_file_defines_under_that_name_has_other_callers(tmp_path: Path) -> None:
    """A change of the code is explained by a caller; another file's own `f`, renamed alike, is called by others."""
    own = "def f(x):\n    return len(x)\n\n\ndef use(x):\n    return f(x)\n"
    before = {"engine": WHOLE, "user": own}
    after = {"engine": f"def cut(x):\n{HALF}", "user": own.replace("f(x)", "cut(x)").replace("def f", "def cut")}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("renamed", ""), found


@pytest.mark.parametrize(("now", "proposal"), [("other.f", "retarget"), ("third.f_of_one", "")])
def test_one_of_the_uses_of_what_moved_names_something_new_in_its_place(
    tmp_path: Path, now: str, proposal: str
) -> None:
    """No use is a call: they are values of tables, which stand one below the other."""
    tables = "from pkg import {}\n\nONE = make({{'f': {}}})\nTWO = make({{'f': {}}})\n"
    before = {"engine": WHOLE, "user": tables.format("engine", "engine.f", "engine.f")}
    after = {
        "other": WHOLE,
        "third": f"def f_of_one(x):\n{HALF}",
        "user": tables.format("other, third", now, "other.f"),
    }
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal, found.to) == ("moved", proposal, "pkg/other.py:f"), found
    assert proposal or "`f_of_one`" in found.unknown


@pytest.mark.parametrize(("there", "proposal"), [("third", ""), ("", "retarget")])
def test_what_stands_in_two_new_places_is_for_a_person(tmp_path: Path, there: str, proposal: str) -> None:
    after = {"second": WHOLE, **({there: WHOLE.replace("- 3", "- 4")} if there else {})}
    found = judged(tmp_path, {"engine": WHOLE}, after)
    assert (found.kind, found.proposal, found.to) == ("moved", proposal, "pkg/second.py:f"), found
    assert proposal or "`pkg/third.py:f`" in found.unknown


SHIM = f"def new(x):\n{BODY}\n\ndef f(x):\n    warn('use new')\n    return new(x)\n"
LOCKED = SHIM.replace("warn('use new')\n    return new(x)", "with lock:\n        return new(x)")


@pytest.mark.parametrize(
    ("after", "caller", "kind", "proposal"),
    [
        (SHIM, "def go(x):\n    return new(x)\n", "renamed", "retarget"),
        (SHIM, "def go(x):\n    return new(x) or fast(x)\n\n\ndef fast(x):\n    return 1\n", "renamed", ""),
        # It is still what others call.
        (LOCKED, "def go(x):\n    return f(x)\n", "body changed", "applies"),
    ],
)
def test_a_function_that_only_calls_the_new_one_with_its_code(
    tmp_path: Path, after: str, caller: str, kind: str, proposal: str
) -> None:
    before = f"{WHOLE}\n\ndef go(x):\n    return f(x)\n"
    found = judged(tmp_path, {"engine": before}, {"engine": f"{after}\n\n{caller}"})
    assert (found.kind, "applies" if found.applies else found.proposal) == (kind, proposal), found
    assert found.to == ("pkg/engine.py:new" if kind == "renamed" else "")


def test_a_function_that_only_calls_its_namesake_in_another_file(tmp_path: Path) -> None:
    head, go = "import pkg.core as core\n\n\n", "\n\ndef go(x):\n    return {}f(x)\n"
    before = {"engine": head + WHOLE + go.format(""), "core": "y = 1\n"}
    after = {"engine": f"{head}def f(x):\n    return core.f(x)\n{go.format('core.')}", "core": WHOLE}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal, found.to) == ("moved", "retarget", "pkg/core.py:f"), found


def test_a_member_whose_class_was_merged_into_an_older_one_is_for_a_person(tmp_path: Path) -> None:
    """That was its subclass, and has had a member of that name before."""
    go = f"    def go(self, x):\n{BODY.replace('    ', '        ')}"
    init = "    def __init__(self, {}):\n        super().__init__()\n        {}\n"
    older = "class Group(Many):\n" + init.format("name", "self.name = name")
    before = f"class Many:\n{init.format('chain', 'self.chain = chain')}\n{go}\n\n{older}"
    after = f"class Group:\n{init.format('name, chain', 'self.set(name, chain)')}\n{go}"
    overlay = 'class Many:\n    @wrapped(why="x")\n    def __init__(self, chain):\n        upstream(self, chain)\n'
    found = of(tmp_path, overlay, after, before=before)
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert "Group.__init__" in found.unknown


USES = "def use(x):\n    y = prepared(x)\n    {}\n    return y\n"


@pytest.mark.parametrize(
    ("call", "now", "proposal"),
    [
        ("y = f(y)", "y = check_f(y)", ""),
        ("y = f(y)", "y = len(y) and y + 1", ""),
        ("f(y)", "", "drop"),
        ("y = A().f(y)", "y = y + 1", ""),
        ("if y:\n        f = other\n    y = ray.remote(f)", "y = ray.remote(other)", "drop"),
        ("y = arg(f(y))", "y = arg(y)", ""),
    ],
    ids=["another-call", "inlined", "left-out", "of-its-class", "another-case-that-it-had", "of-words-that-it-had"],
)
def test_what_is_missing_is_dropped_only_where_its_callers_have_nothing_in_its_place(
    tmp_path: Path, call: str, now: str, proposal: str
) -> None:
    gone, overlay = f"def f(x):\n{HALF}\n\n", WRAP_F
    if "A" in call:
        gone = "class A:\n    def f(self, x):\n        return x.go(1)\n\n\n"
        overlay = 'class A:\n    @wrapped(why="x")\n    def f(self, x):\n        return upstream(self, x)\n'
    after = USES.format(now).replace("    \n", "")
    found = judged(tmp_path, {"engine": gone + USES.format(call)}, {"engine": after}, overlay)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/engine.py:use" in found.unknown


@pytest.mark.parametrize(("now", "proposal"), [("made(x)", ""), ("len(x) + 1", "drop")])
def test_a_caller_that_names_something_new_far_from_its_old_call_may_have_that_in_its_place(
    tmp_path: Path, now: str, proposal: str
) -> None:
    use = "def use(x):\n{}" + LOGS + "    return {}\n"
    before = f"{WHOLE}\n\n" + use.format("    f(x)\n", "len(x)")
    after = "def made(x):\n    return x.size\n\n\n" + use.format("", now)
    found = judged(tmp_path, {"engine": before}, {"engine": after})
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/engine.py:use" in found.unknown


@pytest.mark.parametrize(("now", "proposal"), [("y = y + 1", ""), ("", "drop")], ids=["inlined", "left-out"])
def test_a_caller_that_is_defined_for_several_cases_calls_it(tmp_path: Path, now: str, proposal: str) -> None:
    cases = "@overload\ndef use(x: int): ...\n@overload\ndef use(x: str): ...\n"
    before = f"{WHOLE}\n\n{cases}{USES.format('y = f(y)')}"
    after = cases + USES.format(now).replace("    \n", "")
    found = judged(tmp_path, {"engine": before}, {"engine": after})
    assert (found.kind, found.proposal) == ("retired", proposal), found


@pytest.mark.parametrize(("there", "proposal"), [("sub/engine", ""), ("sub/other", "drop")])
def test_a_new_file_of_the_missing_ones_name_may_do_its_work(tmp_path: Path, there: str, proposal: str) -> None:
    left = {"user": "def user(x):\n    return x\n"}
    before = {"engine": WHOLE, "user": f"from pkg.engine import f\n\n\n{left['user']}"}
    found = judged(tmp_path, before, {there: "def shown():\n    return log(1)\n", **left})
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "`pkg/sub/engine.py`" in found.unknown


@pytest.mark.parametrize(("now", "proposal"), [("y = y + 1", ""), ("", "drop")], ids=["inlined", "left-out"])
def test_a_caller_that_another_function_has_taken_over_has_its_calls_there(
    tmp_path: Path, now: str, proposal: str
) -> None:
    gone = f"def f(x):\n{HALF}\n\n"
    other = "\n\ndef shown(x):\n    return use(x)\n"
    after = USES.format(now).replace("    \n", "").replace("use", "shown")
    found = judged(tmp_path, {"engine": gone + USES.format("y = f(y)") + other}, {"engine": after})
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/engine.py:shown" in found.unknown


STUB = "class A:\n    def f(self, x):\n        raise NotImplementedError\n"
FILLED = f"class A:\n    def f(self, x, more=0):\n{textwrap.indent(BODY, '    ')}"


@pytest.mark.parametrize(
    ("there", "proposal"),
    [({"third": STUB}, ""), ({"third": STUB.replace("A", "A(B)")}, "retarget"), ({}, "retarget")],
    ids=["another", "an-heir", "none"],
)
def test_a_member_of_a_class_that_is_another_one_elsewhere_now_is_for_a_person(
    tmp_path: Path, there: dict[str, str], proposal: str
) -> None:
    """Its old class may have been split: what is new under its name may do a part of its work."""
    before = FILLED.replace(", more=0", "")
    after = {"second": before.replace("class A", "class B"), **there}
    found = judged(tmp_path, {"engine": before}, after, WRAP_A)
    assert (found.kind, found.proposal, found.to) == ("moved", proposal, "pkg/second.py:B.f"), found
    assert proposal or "`pkg/third.py:A`" in found.unknown


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ({"engine": WHOLE, "user": STUB}, {"user": FILLED}, "pkg/user.py:A.f"),
        (
            {
                "engine": f"{WHOLE}\n\ndef use(x):\n    y = f(x)\n    log(y, x)\n    return check(y)\n",
                "user": "def use(x):\n    return 0\n",
            },
            {"user": "def use(x):\n    y = made(x)\n    log(y, x)\n    return check(y)\n"},
            "pkg/user.py:use",
        ),
        ({"engine": f"{WHOLE}\n\n{REST}", "user": "y = 1\n"}, {"user": REST}, "pkg/user.py"),
    ],
    ids=["a-stub-has-its-code", "its-caller-is-there", "what-stood-beside-it-is-there"],
)
def test_what_is_missing_with_its_file_may_be_in_a_file_that_was_there(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], named: str
) -> None:
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert named in found.unknown


def test_a_function_with_a_callers_name_and_other_code_is_another_one(tmp_path: Path) -> None:
    before = {
        "engine": f"{WHOLE}\n\ndef main(x):\n    y = f(x)\n    log(y, x)\n    return check(y)\n",
        "user": "from pkg.engine import main\n\ny = 1\n",
    }
    after = {"user": "y = 1\n\n\ndef main():\n    for one in sorted(tasks()):\n        one.start()\n"}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("retired", "drop"), found


def test_a_caller_that_moved_too_is_not_what_it_calls(tmp_path: Path) -> None:
    user = "from pkg.{} import f\n\n\ndef use(x{}):\n    return f(x)\n"
    after = {"second": WHOLE, "other": user.format("second", ": int")}
    found = judged(tmp_path, {"engine": WHOLE, "user": user.format("engine", "")}, after)
    assert (found.proposal, found.to) == ("retarget", "pkg/second.py:f"), found


@pytest.mark.parametrize(("now", "proposal"), [("y = y + 1", ""), ("", "drop")], ids=["inlined", "left-out"])
def test_a_caller_in_another_file_has_its_calls_there(tmp_path: Path, now: str, proposal: str) -> None:
    """Half of its code is unchanged, and it imports the missing function, or stood beside it."""
    kept = "    y = prepared(x, 1)\n    log(y, x)\n"
    use = USES.replace("    y = prepared(x)\n", kept)
    before, after = use.format("y = f(y)"), use.format(now).replace("    \n", "")
    own = f"def f(x):\n{HALF}"
    files = {"engine": own, "user": f"from pkg.engine import f\n\n\n{before}"}
    found = judged(tmp_path / "imports", files, {"engine": "z = 1\n", "other": after})
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/other.py:use" in found.unknown
    found = judged(tmp_path / "beside", {"engine": f"{own}\n\n{before}"}, {"engine": "z = 1\n", "other": after})
    assert (found.kind, found.proposal) == ("retired", proposal), found


@pytest.mark.parametrize(("now", "proposal"), [("y = made(y)", ""), ("", "drop")], ids=["another-call", "left-out"])
def test_the_callers_of_a_caller_that_is_missing_too_have_nothing_in_its_place(
    tmp_path: Path, now: str, proposal: str
) -> None:
    outer = "def outer(x):\n    z = f(x)\n    return z or outer(x)\n"
    user = "from pkg.engine import {}\n\n\n" + USES
    before = {"engine": f"def f(x):\n{HALF}\n\n{outer}", "user": user.format("outer", "y = outer(y)")}
    after = {"engine": "def made(x):\n    return ref(x)\n", "user": user.format("made", now).replace("    \n", "")}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/user.py:use" in found.unknown


TABLED = """class Many(Base):
    def parse_{}(self, x):
        items = {}(x, 1)
        return self.{}(items)
"""


@pytest.mark.parametrize(("after", "proposal"), [(TABLED.format("all", "listed", "made"), ""), ("y = 1\n", "drop")])
def test_what_is_missing_with_its_caller_goes_only_if_nothing_may_do_the_work_of_that(
    tmp_path: Path, after: str, proposal: str
) -> None:
    """Nothing names the caller: it is looked up by a text."""
    before = f"def f(x, size):\n{HALF}\n\n{TABLED.format('list', 'f', 'kept')}"
    overlay = WRAP_F.replace("x)", "x, size)")
    found = judged(tmp_path, {"engine": before}, {"engine": after}, overlay)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "whether what pkg/engine.py:Many.parse_list has in its place" in found.unknown


def test_a_member_is_not_dropped_where_those_beside_it_moved_with_their_class(tmp_path: Path) -> None:
    """Its name is a common one; class and file have other names now."""
    common = {f"common{number}": "class K:\n    def __init__(self):\n        pass\n" for number in range(COMMON + 1)}
    stream = "class {0}:\n    def __init__(self, made):\n        self.made = made\n\n    def f(self, x):\n        {1}\n"
    opened = "\n\nclass {0}Backend:\n    def opened(self):\n        return {0}(self.connect(1))\n"
    body = "y = self.made.read(x + 1)\n        return [y, x, 1]"
    before, after = ((stream + opened).format(name, body) for name in ("AsyncStream", "AnyStream"))
    for leaf, expected in (("f", "retarget"), ("__init__", "")):
        given = "made" if leaf == "__init__" else "x"
        wrapper = f"def {leaf}(self, {given}):\n        return upstream(self, {given})\n"
        overlay = f'class AsyncStream:\n    @wrapped(why="x")\n    {wrapper}'
        found = judged(tmp_path / leaf, common | {"engine": before}, common | {"anyio": after}, overlay)
        assert found.proposal == expected, found


KERNEL = """class {}:
    def __init__(self, data, scale):
        self.data = data
        self.scale = scale
        self.{} = self.made(data)

    def f(self, x):
        return self.data * x + self.scale

    def shape(self):
        return self.data.shape[1:]
"""


@pytest.mark.parametrize(("after", "proposal"), [("made", ""), ("", "drop")])
def test_a_member_of_a_common_name_is_not_dropped_where_half_of_its_class_is_in_another_file(
    tmp_path: Path, after: str, proposal: str
) -> None:
    """That has another name there, and others have a member of that name, too."""
    common = {f"common{number}": "class K:\n    def f(self):\n        pass\n" for number in range(COMMON + 1)}
    before = common | {"engine": KERNEL.format("A", "kept"), "kernels": "y = 1\n"}
    there = KERNEL.format("NewKernel", after).replace("self, x)", "self, x, out)") if after else "y = 2\n"
    found = judged(tmp_path, before, common | {"engine": "y = 1\n", "kernels": there}, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "`pkg/kernels.py`" in found.unknown


BLOCK = """    limits = bounds_of({0}.weights)
    is_in_range = limits.lower <= {0}.weight <= limits.upper
    if not is_in_range:
        warned("not in the range", limits)
"""
EDIT_RANGE = '@edited(("limits.lower <= x.weight", "limits.lowest <= x.weight"), why="x")\ndef go(x): ...\n'


@pytest.mark.parametrize(("there", "kind"), [("checked", "find gone"), ("", "already gone")])
def test_an_edit_of_a_block_that_went_to_another_file_is_for_a_person(tmp_path: Path, there: str, kind: str) -> None:
    """It names other things there, so the text that the edit looks for stands nowhere."""
    before = {"engine": f"def go(x):\n{BLOCK.format('x')}    return x\n", "other": "y = 1\n"}
    moved = f"def {there}(given):\n{BLOCK.format('given')}" if there else "y = 2\n"
    found = judged(tmp_path, before, {"engine": "def go(x):\n    return x\n", "other": moved}, EDIT_RANGE)
    assert (found.kind, found.proposal) == (kind, "" if there else "drop"), found
    assert not there or "pkg/other.py" in found.evidence


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_caller_whose_lines_went_to_another_file_has_its_calls_there(tmp_path: Path, *, is_moved: bool) -> None:
    """Of two calls there, one is of what has the work now."""
    calls = "    prepared = {}(x.items)\n    x.sizes = listed(prepared)\n    x.longest = max(x.sizes)\n"
    before = {"engine": f"def f(x):\n{HALF}\n\ndef use(x):\n{calls.format('f')}    return x\n", "other": "y = 1\n"}
    moved = f"def sized(x):\n{calls.format('shifted')}" if is_moved else "y = 2\n"
    found = judged(tmp_path, before, {"engine": "def use(x):\n    return x\n", "other": moved})
    assert (found.kind, found.proposal) == ("retired", "" if is_moved else "drop"), found
    assert not is_moved or "pkg/other.py" in found.unknown


MADE = "class Made:\n    def __init__(self, x):\n        self.x = x\n\n\n"


@pytest.mark.parametrize(
    ("now", "proposal"),
    [
        ("def from_x(opened):\n    return Made(opened)\n", ""),
        ("def from_x(opened):\n    return Made.of(opened)\n", ""),
        ("def from_x(opened):\n    raise Made(opened)\n", "drop"),
        ("def known(x):\n    return Made(x)\n", "drop"),
        ("class A:\n    def go(self):\n        return Made(self)\n", "drop"),
    ],
    ids=["called", "by-a-method", "raised", "as-before", "in-a-class"],
)
def test_a_new_function_that_makes_what_a_missing_one_made_may_do_its_work(
    tmp_path: Path, now: str, proposal: str
) -> None:
    known = "def known(x):\n    return Made(x)\n"
    before = f"{MADE}{known}\n\ndef f(x):\n    a = opened(x, 1)\n    return Made(a)\n"
    found = judged(tmp_path, {"engine": before}, {"engine": f"{MADE}{now}"})
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "`pkg/engine.py:from_x`" in found.unknown


HEIR = "from pkg.base import Base\n\n\nclass {}(Base):\n    {}\n"


@pytest.mark.parametrize(
    ("now", "number", "proposal"),
    [("Second", 1, ""), ("Second", COMMON, "drop"), ("Kept0", 1, "drop")],
    ids=["new", "one-of-many", "as-before"],
)
def test_a_new_class_of_the_base_of_a_missing_one_may_do_its_work(
    tmp_path: Path, now: str, number: int, proposal: str
) -> None:
    """So may what made an object of that."""
    base = "class Base:\n    def go(self, x):\n        return x\n"
    kept = {f"kept{one}": HEIR.format(f"Kept{one}", "size = 1") for one in range(number)}
    own = HEIR.format("A", "def f(self, x):\n        return x.go(1)") + "\n\ndef f(x):\n    return A(x + 1)\n"
    before = kept | {"base": base, "engine": own, "second": "y = 1\n"}
    after = kept | {"base": base, "engine": "y = 1\n", "second": HEIR.format(now, "width = 1")}
    for overlay in (WRAP_A, WRAP_F):
        found = judged(tmp_path / str(overlay == WRAP_F), before, after, overlay)
        assert (found.kind, found.proposal) == ("retired", proposal), found
        assert proposal or "`pkg/second.py:Second`" in found.unknown


def test_headers_in_another_encoding_are_read(tmp_path: Path) -> None:
    pin, none = load(tmp_path, write(tmp_path, {})).overlay.pin, DefinedNames(())
    text = b"# coding: latin-1\nclass A(Base,  # caf\xe9\n        Other): pass\n"
    base, now = (snapshot_of(source_tree({"pkg/a.py": one}), none) for one in (b"x = 1\n", text))
    assert list(ChangedDefinitions(base, pin).heirs(["Other"], now)) == [("pkg/a.py", "A")]


@pytest.mark.parametrize(("folder", "proposal"), [("pkg", ""), ("recipe", "drop")])
def test_a_class_of_the_same_base_in_another_package_is_not_in_its_place(
    tmp_path: Path, folder: str, proposal: str
) -> None:
    base = {"pkg/base.py": "class Base:\n    def go(self, x):\n        return x\n"}
    own = "LEFT = 0\n" + HEIR.format("A", "def f(self, x):\n        return x.go(1)")
    after = base | {"pkg/engine.py": "LEFT = 0\n", f"{folder}/second.py": HEIR.format("Second", "width = 1")}
    found = became(tmp_path, base | {"pkg/engine.py": own}, WRAP_A, after, packages=("pkg", "recipe"))
    assert (found.kind, found.proposal) == ("retired", proposal), found


@pytest.mark.parametrize(
    ("name", "taken", "proposal"), [("AOffline", "x", ""), ("AOffline", "y", "follow"), ("Other", "x", "follow")]
)
def test_a_member_that_takes_other_parameters_where_a_class_of_its_name_takes_the_old_ones(
    tmp_path: Path, name: str, taken: str, proposal: str
) -> None:
    member = "class {}:\n    def f(self, {}):\n        return {}\n"
    before = {"engine": member.format("A", "x", "go(x)"), "second": "y = 1\n"}
    after = {"engine": member.format("A", "client, size=1", "1"), "second": member.format(name, taken, "2")}
    found = judged(tmp_path, before, after, WRAP_A)
    assert (found.kind, found.proposal) == ("signature changed", proposal), found
    assert proposal or "`pkg/second.py:AOffline.f`" in found.unknown


MEMBER = """class A:
    limit = 10

    def f(self, x):
        return x.go(1)

    def use(self, x):
        y = self.prepared(x, self.limit)
        y = self.f(y)
        self.seen.append(y)
        return y
"""
GONE = MEMBER.replace("class A", "class B").replace("    def f(self, x):\n        return x.go(1)\n\n", "")
# What the old name of a class may stand for where that has a new name.
BOUND = {
    "no-more": "",
    "alias": "\n\nA = B\n",
    "alias-of-a-call": "\n\nA = deprecated('A is B')(B)\n",
    "function": "\n\ndef A(*given):\n    return B(*given)\n",
    "subclass": "\n\nclass A(B):\n    pass\n",
}


@pytest.mark.parametrize("bound", BOUND)
def test_a_member_is_sought_in_its_class_whatever_the_old_name_of_that_stands_for_now(
    tmp_path: Path, bound: str
) -> None:
    """It has gone from there, too, and its caller has other code in its place, or nothing."""
    for now, proposal in (("y = y + 1", ""), ("", "drop")):
        after = GONE.replace("        y = self.f(y)\n", f"        {now}\n" if now else "") + BOUND[bound]
        found = judged(tmp_path / f"gone{len(now)}", {"engine": MEMBER}, {"engine": after}, WRAP_A)
        expected = "" if bound == "subclass" else proposal
        assert (found.kind, found.proposal) == ("retired", expected), found
        assert expected or "pkg/engine.py:B.use" in found.unknown or bound == "subclass"
    there = MEMBER.replace("class A", "class B") + BOUND[bound]
    found = judged(tmp_path / "there", {"engine": MEMBER}, {"engine": there}, WRAP_A)
    assert (found.proposal, found.to) == ("", "") if bound == "subclass" else ("retarget", "pkg/engine.py:B.f"), found


@pytest.mark.parametrize(("name", "proposal"), [("_A", ""), ("B", "retarget")])
def test_a_class_that_is_private_now_and_handed_out_to_those_who_still_name_it_is_for_a_person(
    tmp_path: Path, name: str, proposal: str
) -> None:
    """Its module warns of the old name: what upstream itself calls may be another one by now."""
    handed = (
        f"\n\ndef __getattr__(name):\n    if name == 'A':\n        return warned({name})\n    raise AttributeError\n"
    )
    after = MEMBER.replace("class A", f"class {name}") + handed
    found = judged(tmp_path, {"engine": MEMBER}, {"engine": after}, WRAP_A)
    assert (found.proposal, found.to) == (proposal, f"pkg/engine.py:{name}.f"), found
    assert proposal or "`A`" in found.unknown


@pytest.mark.parametrize(
    "now", ["from pkg.second import C as A\n", "from pkg import second\n\nA = second.C\n", "A = make()\n"]
)
def test_a_member_whose_class_became_one_that_was_there_is_for_a_person(tmp_path: Path, now: str) -> None:
    second = "class C:\n    def go(self, x):\n        return x\n"
    found = judged(tmp_path, {"engine": MEMBER, "second": second}, {"engine": now, "second": second}, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert found.unknown == "whether `A` needs the change, too"


@pytest.mark.parametrize(("source", "proposal"), [("engine", ""), ("__init__", ""), ("second", "drop")])
def test_only_who_imports_the_missing_function_itself_calls_it(tmp_path: Path, source: str, proposal: str) -> None:
    """Also by the name of its package; another file may have a function of that name."""
    own = f"def f(x):\n{HALF}"
    module = "pkg" if source == "__init__" else f"pkg.{source}"
    user = f"from {module} import f\n\n\n{USES.format('y = f(y)')}"
    before = {"__init__": "from pkg.engine import f\n", "engine": own, "second": own, "user": user}
    after = {"__init__": "", "engine": "y = 1\n", "second": own, "user": USES.format("y = y + 1")}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("retired", proposal), found


def test_a_caller_that_imports_another_of_that_name_now_has_that_in_its_place(tmp_path: Path) -> None:
    own, user = f"def f(x):\n{HALF}", f"from pkg.engine import f\n\n\n{USES.format('y = f(y)')}"
    before = {"engine": own, "second": own, "user": user}
    found = judged(tmp_path, before, {"engine": "y = 1\n", "second": own, "user": user.replace("engine", "second")})
    assert (found.kind, found.proposal) == ("retired", ""), found


WRAP_A = 'class A:\n    @wrapped(why="x")\n    def f(self, x):\n        return upstream(self, x)\n'


@pytest.mark.parametrize(
    ("decorator", "kept", "proposal"),
    [("dataclass", "", ""), ("dataclass(eq=True)", "@dataclass(eq=False)\n", ""), ("other", "@other\n", "drop")],
    ids=["new", "with-other-arguments", "as-before"],
)
def test_what_a_new_decorator_of_its_class_may_make_is_for_a_person(
    tmp_path: Path, decorator: str, kept: str, proposal: str
) -> None:
    own = "class A:\n    size: int = 1\n"
    member = "\n    def f(self, x):\n        return x.go(1)\n"
    found = judged(tmp_path, {"engine": f"{kept}{own}{member}"}, {"engine": f"@{decorator}\n{own}"}, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or f"`@{decorator}` needs the change" in found.unknown


@pytest.mark.parametrize(
    ("leaf", "other"),
    [("_f", "g"), ("_f", "_f"), ("f", "g"), ("f", "f")],
    ids=["private", "private-and-of-others-too", "gone-from-the-package", "of-others-too"],
)
def test_what_reads_an_attribute_that_may_be_the_missing_member_calls_it(tmp_path: Path, leaf: str, other: str) -> None:
    member = f"class A:\n    def {leaf}(self, x):\n        return x.go(1)\n"
    user = "from pkg.engine import made\n\n\ndef use(x):\n    {}\n    return log(x, 1)\n"
    second = f"class B:\n    def {other}(self):\n        return 1\n"
    before = {"engine": member, "second": second, "user": user.format(f"check(made().{leaf}(x))")}
    after = {"engine": "class A:\n    size = 1\n", "second": second, "user": user.format("check(counted(made(), x))")}
    found = judged(tmp_path, before, after, WRAP_A.replace("def f", f"def {leaf}"))
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert "pkg/user.py" in found.unknown


@pytest.mark.parametrize(("now", "proposal"), [("x.one(x.f)", ""), ("x.one.f(x.f)", "drop"), ("self.f(x.f)", "")])
def test_a_file_that_reads_fewer_attributes_of_a_common_name_may_have_read_the_missing_member(
    tmp_path: Path, now: str, proposal: str
) -> None:
    """Another class still has a member of that name."""
    left = "class A:\n    size = 1\n"
    use = "class B:\n    def f(self, x):\n        return {}\n"
    before = {"engine": f"{left}\n    def f(self, x):\n        return x.go(1)\n", "user": use.format("x.one.f(x.f)")}
    found = judged(tmp_path, before, {"engine": left, "user": use.format(now)}, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/user.py" in found.unknown


@pytest.mark.parametrize(("now", "proposal"), [("A.made(y.all(x))", ""), ("", "drop")])
def test_what_names_a_member_by_its_class_calls_it(tmp_path: Path, now: str, proposal: str) -> None:
    """Another class still has a member of that name."""
    own = "class A:\n    size = 1\n\n    def f(self, x):\n        return x.go(1)\n"
    after = "class A:\n    size = 1\n\n    def made(self, x):\n        return [x, self.size]\n"
    use = f"\n\n{own.replace('class A', 'class B')}\n\n{USES}"
    files = {"engine": own + use.format("A.f(y)")}, {"engine": (after if now else after[:21]) + use.format(now)}
    found = judged(tmp_path / "own", *files, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/engine.py:use" in found.unknown
    head = "from pkg.engine import A\n"
    files = {"engine": own, "user": head + use.format("A.f(y)")}, {"engine": after, "user": head + use.format(now)}
    found = judged(tmp_path / "other", *files, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/user.py:use" in found.unknown


@pytest.mark.parametrize(("left", "proposal"), [("", ""), ("\n\nclass Shown:\n    size = 1\n", "drop")])
def test_what_is_gone_with_every_file_that_used_it_is_for_a_person(tmp_path: Path, left: str, proposal: str) -> None:
    """A program that was written anew may do the same work under other names; here, a user's file is still there."""
    before = {"engine": WHOLE, "user": f"from pkg.engine import f\n\n\ndef go(x):\n    return f(x)\n{left}"}
    after = {"second": "def check(x):\n    return seen(x)\n", **({"user": left} if left else {})}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "no file that had, used or imported it has anything left" in found.unknown


ASKED = "\n\ndef asked(x):\n    return [_made_of(x)]\n"


@pytest.mark.parametrize(
    ("before", "now", "proposal"),
    [("", ASKED, ""), ("", "", "drop"), (ASKED, ASKED, "drop")],
    ids=["by-another", "by-nothing", "by-another-before"],
)
@pytest.mark.parametrize("place", ["second", "third"])
def test_what_uses_a_private_helper_that_only_the_missing_function_used_may_do_its_work(
    tmp_path: Path, before: str, now: str, proposal: str, place: str
) -> None:
    """Also where the helper is in another file now."""
    helper = "def _made_of(x):\n    a = x.one\n    b = x.two\n    return [a, b, a + b]\n"
    own = "from pkg.second import _made_of\n\n\ndef f(x):\n    return _made_of(x.size)[0]\n"
    files = {"engine": "", place: helper + now, "user": "y = 1\n"}
    found = judged(tmp_path, {"engine": own, "second": helper + before, "user": "y = 1\n"}, files)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or f"what uses `pkg/{place}.py:_made_of` now, which only it used" in found.unknown


@pytest.mark.parametrize(
    ("name", "there", "named"),
    [
        ("add_one", "def addOne(y):\n    return more(y)\n", "pkg/user.py:addOne"),
        ("GrayScale", "class Grayscale:\n    size = 1\n", "pkg/user.py:Grayscale"),
        ("AddOne", "class FastAddOne:\n    size = 1\n", "pkg/user.py:FastAddOne"),
        ("AddOne", "class AddOneTo:\n    size = 1\n", "pkg/user.py:AddOneTo"),
        ("AddOne", "class AddOnes:\n    size = 1\n", ""),
        ("AddOneNow", "class AddOneLater:\n    size = 1\n", "pkg/user.py:AddOneLater"),
        ("AddOne", "class AddTwo:\n    size = 1\n", ""),
        ("add_one", "NAMES = {'add_one': 'sums'}\n", "pkg/user.py"),
        ("AddOne", "class Sums:\n    'It was AddOne.'\n", "pkg/user.py"),
        ("add", "class Sums:\n    'Here we add.'\n", ""),
        ("add_one", "OLD = {'add_one': 'sums'}\n", ""),
    ],
    ids=[
        "in-camel-case",
        "in-another-case",
        "word-before",
        "word-behind",
        "no-word",
        "another-last-word",
        "another-last-word-of-two",
        "a-text-names-it",
        "a-docstring-names-it",
        "a-word",
        "named-before",
    ],
)
def test_a_name_that_upstream_still_mentions_is_for_a_person(tmp_path: Path, name: str, there: str, named: str) -> None:
    """A new definition has almost its name, or a new text names it."""
    own, overlay = f"def {name}(x):\n{BODY}", WRAP_F.replace("f(x)", f"{name}(x)")
    if not name.islower():
        own = f"class {name}:\n    def f(self, x):\n        return x.go(1)\n"
        overlay = WRAP_A.replace("class A", f"class {name}")
    before = {"engine": own, "user": there if "OLD" in there else "y = 1\n"}
    found = judged(tmp_path, before, {"engine": "y = 1\n", "user": there}, overlay)
    assert (found.kind, found.proposal) == ("retired", "" if named else "drop"), found
    assert f"`{named}`" in found.unknown or not named


@pytest.mark.parametrize(("now", "proposal"), [("mean_report", ""), ("mean_of", "drop")])
@pytest.mark.parametrize("is_member", [True, False])
def test_a_new_definition_beside_a_missing_one_that_shares_a_word_with_it_may_do_its_work(
    tmp_path: Path, now: str, proposal: str, *, is_member: bool
) -> None:
    own = "def {}(self, x):\n    return {}\n"
    before, after = own.format("sum_report", "x.go(1)"), own.format(now, "[one.mean for one in x.all(self)]")
    overlay = '@wrapped(why="x")\ndef sum_report(self, x):\n    return upstream(self, x)\n'
    texts = [before, after, overlay]
    if is_member:
        texts = [
            f"class A:\n{textwrap.indent(text, '    ')}"
            for text in (f"{before}\nsize = 1\n", f"{after}\nsize = 1\n", overlay)
        ]
    found = judged(tmp_path, {"engine": texts[0]}, {"engine": texts[1]}, texts[2])
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or f"{now}`" in found.unknown


@pytest.mark.parametrize(
    ("decorator", "use", "proposal"), [("@kinds.register(int)\n", "", ""), ("@kinds.register(int)\n", "f(x)", "drop")]
)
def test_what_is_called_by_its_decorator_alone_is_for_a_person(
    tmp_path: Path, decorator: str, use: str, proposal: str
) -> None:
    user = "def use(x):\n{}    return x\n"
    before = {"engine": f"{decorator}{WHOLE}\n\n{user.format(f'    {use}' + chr(10) if use else '')}"}
    found = judged(tmp_path, before, {"engine": user.format("")})
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "@kinds.register(int)" in found.unknown


def test_what_went_with_its_file_to_a_new_one_may_have_another_name_there(tmp_path: Path) -> None:
    beside = "def beside(x):\n    return [x, x.size, x.end]\n"
    renamed = WHOLE.replace("def f(x)", "def checked(x, more)").replace("c = b - 3", "c = more")
    found = judged(tmp_path, {"engine": f"{WHOLE}\n\n{beside}"}, {"second": f"{renamed}\n\n{beside}"})
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert "pkg/second.py:checked" in found.unknown


def test_a_member_does_not_go_where_that_of_another_class_that_is_gone_went(tmp_path: Path) -> None:
    """The class of the other one has another name there, too."""
    reader = "class {}:\n    def other(self):\n        return 1\n\n    def f(self, x):\n"
    reader += "        self.{} = x + 1\n        self.size = {}\n        self.end = False\n"
    before = {"engine": reader.format("A", "stream", "None"), "second": reader.format("A", "sock", "None")}
    after = {"engine": "y = 1\n", "second": "y = 1\n", "third": reader.format("_A", "sock", "None")}
    found = judged(tmp_path, before, after, WRAP_A)
    assert found.proposal == "", found


@pytest.mark.parametrize("name", ["f", "g"])
def test_a_function_does_not_go_to_a_file_beside_that_of_those_beside_it(tmp_path: Path, name: str) -> None:
    """Its own may have other code by now."""
    beside = "def beside(x):\n    return [x, x.size, x.end]\n"
    third = f"{beside}\n\ndef {name}(x):\n    return fused(x.data, 1)\n"
    found = judged(tmp_path, {"engine": f"{WHOLE}\n\n{beside}"}, {"second": WHOLE, "third": third})
    assert (found.kind, found.proposal) == ("moved", "" if name == "f" else "retarget"), found
    assert ("pkg/third.py:f" in found.unknown) == (name == "f")


@pytest.mark.parametrize(("there", "proposal"), [("third", "retarget"), ("second", "")])
def test_a_member_does_not_go_to_a_class_of_another_name_in_a_file_that_was_there(
    tmp_path: Path, there: str, proposal: str
) -> None:
    """That may be a copy of a class which is still there."""
    own = f"class {{}}:\n    size = 1\n\n    def f(self, x):\n{textwrap.indent(BODY, '    ')}"
    kept = own.format("Kept").replace("c - 3", "c - 4")
    before = {"engine": own.format("A"), "second": kept}
    after = {"engine": "y = 1\n", "second": kept}
    after[there] = f"{after.get(there, '')}\n\n{own.format('B')}"
    found = judged(tmp_path, before, after, WRAP_A)
    assert (found.kind, found.proposal, found.to) == ("moved", proposal, f"pkg/{there}.py:B.f"), found


@pytest.mark.parametrize(("now", "proposal"), [("@kind(1)\n@kind(2)\n", "retarget"), ("@kind(2)\n", "")])
def test_an_edit_does_not_move_to_a_function_that_is_there_for_other_cases(
    tmp_path: Path, now: str, proposal: str
) -> None:
    overlay = '@edited(("a * 2", "a * 3"), why="x")\ndef f(x): ...\n'
    found = judged(tmp_path, {"engine": f"@kind(1)\n@kind(2)\n{WHOLE}"}, {"second": f"{now}{WHOLE}"}, overlay)
    assert (found.kind, found.proposal, found.to) == ("moved", proposal, "pkg/second.py:f"), found


@pytest.mark.parametrize("use", ["def use(x):\n    return A(x)\n", "class B(A):\n    pass\n", "", "__all__ = ['A']\n"])
@pytest.mark.parametrize(("there", "proposal"), [("second", ""), ("", "drop")])
def test_another_class_of_that_name_that_is_imported_now_is_named(
    tmp_path: Path, use: str, there: str, proposal: str
) -> None:
    """It stood before. A package that only hands the name on uses it, too."""
    member, user = "class A:\n    def f(self, x):\n        return x.{}(1)\n", f"from pkg.{{}} import A\n\n\n{use}"
    before = {"engine": member.format("go"), "second": member.format("run"), "user": user.format("engine")}
    after = {"second": before["second"], "user": user.format(there) if there else "y = 1\n"}
    found = judged(tmp_path, before, after, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert ("`pkg/second.py:A`" in found.unknown) == bool(there), found


@pytest.mark.parametrize(("now", "is_named"), [("Base", True), ("Other", False), ("Old", False)])
def test_a_member_that_heirs_in_another_file_inherit_from_a_new_base(
    tmp_path: Path, now: str, *, is_named: bool
) -> None:
    """A base that they had before, or that lacks the member, does not have its work.

    The name of the member is a common one, so that no new definition of it is a likely successor by that alone.
    """
    common = {f"common{number}": "def f(y):\n    return y\n" for number in range(COMMON)}
    member = "class {}:\n    def {}(self, x):\n        return x.go(1)\n"
    old, heir = member.format("Old", "f"), "from pkg.{} import {}\n\n\nclass Heir({}):\n    pass\n"
    imported = heir.replace("from", "from pkg.old import Old\nfrom", 1)
    other = "    def prepared(self, limit):\n        return limit.joined()\n"
    own = f"class A:\n    def f(self, x):\n{BODY.replace('    ', '        ')}\n{other}"
    before = common | {"engine": own, "old": old, "user": imported.format("engine", "A", "A, Old")}
    base = f"{member.format('Base', 'f')}\n\n{member.format('Other', 'g')}"
    user = imported.format("base", "Base, Other", f"{now}, Old" if now != "Old" else "Old")
    after = common | {"engine": "y = 1\n", "old": old, "base": base, "user": user}
    found = judged(tmp_path, before, after, WRAP_A)
    assert found.kind == "retired"
    assert ("`pkg/base.py:Base.f`" in found.unknown) == is_named, found
    assert "Old.f" not in found.unknown


OTHER_USES = {
    "of-a-class": "class Use:\n    size = 1\n    made = {}\n",
    "of-a-module": "MADE = {}\n",
    "as-a-decorator": "@other({})\ndef use(x):\n    return x\n",
    "of-a-class-decorator": "@other({})\nclass Use:\n    size = 1\n",
}


@pytest.mark.parametrize("use", OTHER_USES.values(), ids=OTHER_USES)
@pytest.mark.parametrize("head", ["from pkg.engine import f\n", "import pkg.engine as e\n", "from pkg import engine\n"])
@pytest.mark.parametrize(("now", "proposal"), [("len(y) + 1", ""), (None, "drop")])
def test_lines_outside_of_functions_and_by_their_module_call_what_is_missing(
    tmp_path: Path, use: str, head: str, now: str | None, proposal: str
) -> None:
    name = head.rsplit(maxsplit=1)[-1]
    call = "f(y)" if name == "f" else f"{name}.f(y)"
    before = {"engine": f"def f(x):\n{HALF}", "user": f"{head}\n\n{use.format(call)}"}
    after = {"engine": "y = 1\n", "user": use.format(now) if now else "import os\n"}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/user.py" in found.unknown


@pytest.mark.parametrize(
    ("now", "proposal"), [("class MADE:\n    b = 1\n", ""), ("from os import sep as MADE\n", ""), ("", "drop")]
)
def test_what_a_missing_class_made_is_defined_otherwise_now(tmp_path: Path, now: str, proposal: str) -> None:
    gone = "class A:\n    def f(self, x):\n        return x.go(1)\n"
    after = {"engine": "y = 1\n", "user": f"{now}MORE = 1\n"}
    found = judged(
        tmp_path, {"engine": gone, "user": "from pkg.engine import A\n\nMADE = A()\nMORE = 1\n"}, after, WRAP_A
    )
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/user.py:MADE" in found.unknown


@pytest.mark.parametrize(("use", "proposal"), [("TABLE[x](x)", ""), ("x", "drop")])
@pytest.mark.parametrize("imported", ["pkg.engine import f", "pkg.all import *"])
def test_what_used_a_table_that_is_gone_with_what_it_named_may_call_something_else(
    tmp_path: Path, imported: str, use: str, proposal: str
) -> None:
    second = "SIZE = 1\n{}\n\ndef go(x):\n    return {}\n"
    table = f"from {imported}\n\nTABLE = {{'f': f}}\n"
    before = {"engine": f"def f(x):\n{HALF}", "user": second.format(table, use), "all": "from pkg.engine import *\n"}
    found = judged(tmp_path, before, {"engine": "y = 1\n", "user": second.format("", "x"), "all": "y = 1\n"})
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert proposal or "pkg/user.py:TABLE" in found.unknown


def test_another_module_that_used_such_a_table_may_call_something_else(tmp_path: Path) -> None:
    third = "SIZE = 1\n\n\ndef go(x):\n    return {}\n"
    table = "from pkg.engine import f\n\nTABLE = {'f': f}\nSIZE = 1\n"
    before = {"engine": f"def f(x):\n{HALF}", "user": table}
    before["third"] = f"from pkg.user import TABLE\n\n{third.format('TABLE[x](x)')}"
    found = judged(tmp_path, before, {"engine": "y = 1\n", "user": "SIZE = 1\n", "third": third.format("x")})
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert "pkg/user.py:TABLE" in found.unknown


@pytest.mark.parametrize(
    ("now", "proposal"), [("    from pkg.third import g\n    return g(x)\n", ""), ("    return 0\n", "")]
)
def test_a_function_that_imports_what_is_missing_calls_it(tmp_path: Path, now: str, proposal: str) -> None:
    own = "class A:\n    def f(self, x):\n        return x.go(1)\n"
    user = "def use(x):\n{}\n\ndef other(x):\n    return x\n"
    before = {
        "engine": own,
        "user": user.format("    from .engine import A\n    return A(x)\n"),
        "third": "def g(x):\n    return x\n",
    }
    after = {"third": before["third"], "user": user.format(now)}
    found = judged(tmp_path, before, after, WRAP_A)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert "pkg/user.py:use" in found.unknown


def test_the_index_of_a_package_that_lists_other_names_now_calls_nothing(tmp_path: Path) -> None:
    index = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from pkg.{} import {}\n"
    before = {
        "engine": f"def f(x):\n{HALF}",
        "user": index.format("engine", "f"),
        "second": "def g(x):\n    return x\n",
    }
    after = {"engine": "y = 1\n", "second": before["second"], "user": index.format("second", "g")}
    found = judged(tmp_path, before, after)
    assert (found.kind, found.proposal) == ("retired", "drop"), found


@pytest.mark.parametrize(("is_new", "proposal"), [(True, ""), (False, "drop")])
def test_a_member_whose_class_is_new_in_another_file_is_for_a_person(
    tmp_path: Path, *, is_new: bool, proposal: str
) -> None:
    other = "class Engine:\n    def init_workers(self):\n        seed(self.workers)\n"
    before = {"engine": "class Engine:\n    def f(self, x):\n        return x.seed(1)\n"}
    before["user"] = "y = 1\n" if is_new else other
    overlay = 'class Engine:\n    @wrapped(why="x")\n    def f(self, x):\n        return upstream(self, x)\n'
    found = judged(tmp_path, before, {"engine": "", "user": other}, overlay)
    assert (found.kind, found.proposal) == ("retired", proposal), found
    assert ("pkg/user.py:Engine" in found.unknown) == is_new


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ("use = yes\na = 1\n# end\nb = 2\n", "fits"),
        ("a = 1\n# end\nb = 2\nuse = yes\n", "body changed"),
        ("a = 1\nuse = yes\n# end\nb = 2\n", "body changed"),
    ],
)
def test_a_line_of_a_text_file_that_moved_has_a_note(tmp_path: Path, after: str, kind: str) -> None:
    found = substituted(tmp_path, "pkg/a.txt", ("use = yes", "use = no"), "use = yes\na = 1\n# end\nb = 2\n", after)
    assert (found.kind, found.applies) == (kind, True), found


MOVED = "\n\nclass {name}:\n    def f(self, x):\n        y = x + 1\n        return {name}.start(y, '{name}', {name})\n"
EDITED = """

class {name}:
    @edited(("x + 1", "x + {read}"), why="x")
    def f(self, x): ...
"""
READS = {"Other": "SCALE", "Same": "UNIT", "Along": "half(2)", "Gone": "LIMIT", "Changed": "twice(2)"}


@pytest.mark.slow
def test_an_operation_does_not_move_to_a_file_where_a_name_of_its_code_is_another(environment: Environment) -> None:
    half, twice = "\n\ndef half(x):\n    return x / 2\n", "\n\ndef twice(x):\n    return x * {}\n"
    names = f"SCALE = 5\nUNIT = 1\nLIMIT = 3\n{half}{twice.format(2)}"
    classes = "".join(MOVED.format(name=name) for name in READS)
    there = f"from demo.core import UNIT\n\nSCALE = 7\n{half}{twice.format(3)}{classes}"
    for version, core, other in (("1.0", names + classes, ""), ("1.1", names, there)):
        files = {"demo/__init__.py": b"", "demo/core.py": core.encode(), "demo/other.py": other.encode()}
        write_wheel(environment.folder / "index", "demo", version, files)
    environment.ok("init", "demo", "--release", "1.0", "--suffix", "acme")
    file = environment.folder / "demo@1.0/tree/demo/core.py"
    file.parent.mkdir(parents=True)
    stated = "".join(EDITED.format(name=name, read=read) for name, read in READS.items())
    file.write_text(f"from npu_overlays.markers import edited\n{stated}")
    environment.ok("lock", "demo@1.0")
    found = environment.cli("port", "demo@1.0", "--to", "1.1", "--json").json()
    proposals = {one["target"].rpartition(":")[2]: (one["proposal"], one["unknown"]) for one in found["parts"]}
    moved = {name for name in READS if proposals[f"{name}.f"][0] == "retarget"}
    assert moved == {"Same", "Along"}, proposals
    assert proposals["Other.f"][1] == "which `SCALE` it means: demo/other.py has another one, or none"
