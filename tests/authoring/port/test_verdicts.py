"""What becomes of an operation when upstream moves on: one case for each thing that happened to a real overlay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from language.overlays import git_diff, load, write
from language.pairs import source_tree, text
from npu_overlays.authoring.port.classifier import Classifier, names_of
from npu_overlays.authoring.port.retarget import Retarget, restated
from npu_overlays.authoring.port.text_verdicts import SubstitutionVerdicts, file_verdict, patch_verdicts
from npu_overlays.authoring.port.upstream_commits import LandedCommits, UpstreamCommit, references
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import DefinedNames, snapshot_of
from npu_overlays.contracts.contracts import contracts
from npu_overlays.model import model_of
from npu_overlays.model.code_blocks import renamed
from npu_overlays.model.selectors import leaf_of
from npu_overlays.overlay.content import load_content, models_of
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.overlay_folders import find_overlay
from support.environment import Environment

ENGINE = """
    import os

    LIMIT = 1

    class Engine:
        def start(self, times=1):
            for number in range(times):
                self.run(number, os.sep)
            return self.state

        def stop(self):
            self.state = "stopped"
            return self.state
"""
NOTHING: Mapping[str, str] = {}
START = """
    class Engine:
        @{mark}
        def start(self, times=1):
            {body}
"""
WRAP = START.format(mark='wrapped(why="x")', body="return upstream(self, times)")
EDIT = START.format(mark='edited(("os.sep", "npu.sep"), why="x")', body="...")
COUNTED = START.format(mark='edited(("range(times)", "range(min(times, limit))"), why="x")', body="...")
DELETED = 'deleted("LIMIT", why="x")'


def became(  # noqa: PLR0913  # two states of upstream and the overlay
    tmp_path: Path,
    before: Mapping[str, str],
    overlay: str,
    after: Mapping[str, str],
    *landed: UpstreamCommit,
    path: str = "pkg/engine.py",
    packages: Sequence[str] = ("pkg",),
    **others: str,
) -> Verdict:
    """Return the verdict on the first operation, on pkg/engine.py or another path; others stand in other files."""
    said = {f"tree/{one}": text for one, text in ({path: overlay} | others).items()}
    content = load(tmp_path / "o", write(tmp_path / "o", said, packages=packages))
    trees = [source_tree({path: text(one).encode() for path, one in files.items()}) for files in (before, after)]
    names = DefinedNames(names_of(content.operations))
    first, now = (snapshot_of(tree, names) for tree in trees)
    classes = model_of(content.overlay.pin, trees[0]).classes
    classifier = Classifier(content, contracts(content, trees[0], classes), first)
    known = LandedCommits()
    known.note(landed)
    operation = next(one for one in classifier.operations if one.path == path)
    return classifier.verdict(operation, now, known)


def of(tmp_path: Path, overlay: str, after: str, *landed: UpstreamCommit, before: str = ENGINE) -> Verdict:
    """Return the verdict on the one operation where its file changed."""
    return became(tmp_path, {"pkg/engine.py": before}, overlay, {"pkg/engine.py": after}, *landed)


STOPS = 'class Engine:\n    deleted("stop", why="x")\n'
HELPED_ONE = 'class Engine:\n    @added(why="x")\n    def helper(self):\n        return 2\n'
REPLACED = START.format(mark='replaced(why="x")', body="return None")
HELPER = '@added(why="x")\ndef helper():\n    return 2\n'
SCALE = "def scale(value):\n    return value + 1\n"
CALL = "self.run(number, os.sep)"
LOOP = f"for number in range(times):\n                {CALL}\n"
BEGUN = ENGINE.replace("def start", "def _begin")
HALTED = ENGINE.replace("def stop", "def halt")
STEPPED = ENGINE.replace(CALL, "self.step(number)") + f"\n        def step(self, number):\n            {CALL}\n"
CALLS_STEP = "\n        def last(self):\n            return self.step(9)\n"
SMALL = "class Engine:\n    def start(self, times=1):\n        return self.x\n"
SMALL_TWIN = "    def other(self):\n        return self.x\n"
SIZED = SMALL.replace("def start", "def size")
CLEARED = ENGINE.replace(f"            {LOOP}", "")
STOPS_ALIKE = ENGINE.replace("def stop(self)", "def stop(self, times=1)").replace(
    'self.state = "stopped"', LOOP.rstrip()
)
OPENS_AGAIN = ENGINE + "\n        def again(self):\n            return os.sep\n"
START_BODY = ENGINE.partition("def start")[2].partition("def stop")[0]
RUNS_TWO = f"{ENGINE}\n        def begin(self, times=1):\n            {LOOP.replace('os.sep', '2')}"
RETURNS = '\n    def third():\n        "{}"\n        return 1\n'
CALLED = f"{ENGINE}\n        def go(self):\n            state = self.start(2)\n            return state\n"
OTHER_LOCK = "with self.lock as held:"


@dataclass(frozen=True)
class Case:
    """What upstream did to a file, and the verdict on the operation on it.

    Args:
        overlay: the operation.
        after: the file now.
        kind: of the verdict.
        proposal: of it; ``applies`` if it applies.
        to: the new target's symbol.
        evidence: a part of it.
        before: the file where the overlay was locked.
    """

    overlay: str
    after: str
    kind: str
    proposal: str = ""
    to: str = ""
    evidence: str = ""
    before: str = ENGINE


CASES = {
    "unchanged target fits": Case(WRAP, ENGINE.replace('"stopped"', '"gone"'), "fits", "applies"),
    "wrapper of another body applies": Case(
        WRAP, ENGINE.replace(CALL, "self.run(number)"), "body changed", "applies", evidence="upstream changed its body"
    ),
    "replacement of another body is open": Case(REPLACED, ENGINE.replace(CALL, "self.run(number)"), "body changed"),
    "other parameters": Case(
        WRAP, ENGINE.replace("times=1", "times, *, fast"), "signature changed", "follow", "Engine.start", "fast"
    ),
    "renamed method": Case(WRAP, BEGUN, "renamed", "retarget", "Engine._begin", "alike 1.00"),
    "renamed and changed, and called instead": Case(
        WRAP,
        CALLED.replace("start(", "_begin(").replace("os.sep", "1"),
        "renamed",
        "retarget",
        "Engine._begin",
        before=CALLED,
    ),
    "renamed and changed, and nothing calls it": Case(
        WRAP, BEGUN.replace("os.sep", "1"), "renamed", to="Engine._begin", evidence="alike 0.86"
    ),
    "half of it, and its caller calls the other half, too": Case(
        WRAP,
        CALLED.replace("start(", "_begin(").replace("os.sep", "1").replace("= self._b", "= self.end() or self._b"),
        "renamed",
        to="Engine._begin",
        before=CALLED,
    ),
    "half of it, and its caller gives the result to the other half": Case(
        WRAP,
        CALLED.replace("start(", "_begin(").replace("os.sep", "1").replace("return state\n", "return end(state)\n"),
        "renamed",
        to="Engine._begin",
        before=CALLED,
    ),
    "the same calls in another order under another name": Case(
        '@wrapped(why="x")\ndef one(run):\n    return upstream(run)',
        "def two(run):\n    run(1)\n    run(3)\n    run(2)\n    run(4)\n",
        "renamed",
        to="two",
        evidence="alike 1.00",
        before="def one(run):\n    run(1)\n    run(2)\n    run(3)\n    run(4)\n",
    ),
    "renamed with other parameters": Case(WRAP, BEGUN.replace("(self, times=1)", "(self, times)"), "retired"),
    "unlike method": Case(
        WRAP,
        BEGUN.replace(CALL, "print('other', times, self)")
        .replace("for number in range(times):", OTHER_LOCK)
        .replace("self.state\n\n", "held\n\n"),
        "retired",
        "drop",
    ),
    "two that are equally alike": Case(
        WRAP, ENGINE.replace("def start", "def one").replace("def stop", f"def two{START_BODY}def stop"), "retired"
    ),
    "method that existed before": Case(
        WRAP, STOPS_ALIKE.replace("def start(self, times=1):", "def start_all(self):"), "retired", before=STOPS_ALIKE
    ),
    "edit does not fit the renamed method": Case(
        EDIT, BEGUN.replace("os.sep", "os.linesep"), "renamed", to="Engine._begin", evidence="it does not fit there"
    ),
    "find is in a new method": Case(EDIT, STEPPED, "moved", "retarget", "Engine.step"),
    "find is in a new method that others call, too": Case(EDIT, STEPPED + CALLS_STEP, "find gone"),
    "find was in another method before": Case(
        EDIT, OPENS_AGAIN.replace(CALL, "self.run(number)"), "find gone", before=OPENS_AGAIN
    ),
    "import is not renamed: any two names of one statement are alike": Case(
        'deleted("Gamma", why="x")',
        "from pkg.base import Alpha, Beta, Delta\n" + text(ENGINE),
        "already gone",
        "drop",
        before="from pkg.base import Alpha, Beta, Gamma\n" + text(ENGINE),
    ),
    "edit of what is only imported now": Case(
        '@edited(("value + 1", "value"), why="x")\ndef scale(): ...',
        "from other import scale\n",
        "retired",
        before=SCALE,
    ),
    "deletion of what is only imported now": Case(
        'deleted("scale", why="x")', "from other import scale\n", "signature changed", before=SCALE
    ),
    "another method that is gone is more like the new one": Case(
        WRAP,
        RUNS_TWO.replace("def begin(", "def first(").replace(f"def start{START_BODY}", ""),
        "retired",
        before=RUNS_TWO,
    ),
    "little code under another name": Case(WRAP, SIZED, "renamed", "retarget", "Engine.size", before=SMALL),
    "little other code under another name": Case(WRAP, SIZED.replace("self.x", "self.y"), "retired", before=SMALL),
    "little code that existed twice": Case(WRAP, SIZED + SMALL_TWIN, "retired", before=SMALL + SMALL_TWIN),
    "renamed with another decorator": Case(
        WRAP,
        BEGUN.replace("def _b", "@lru_cache\n        def _b"),
        "renamed",
        to="Engine._begin",
        evidence="its decorators",
    ),
    "replacement of a renamed function with another body": Case(
        REPLACED,
        BEGUN.replace("os.sep", "os.linesep"),
        "renamed",
        to="Engine._begin",
        evidence="it does not fit there: its body changed",
    ),
    "edit in a function whose parameter has another name": Case(
        COUNTED, ENGINE.replace("times", "number_of"), "find gone", "follow", "Engine.start", "occurs nowhere"
    ),
    "edit in a function whose parameter has a name that it puts in": Case(
        COUNTED, ENGINE.replace("times", "limit"), "find gone"
    ),
    "edit in a function with another parameter and another body": Case(
        COUNTED, ENGINE.replace("times", "count").replace("os.sep", "1"), "find gone"
    ),
    "find is gone": Case(EDIT, ENGINE.replace("os.sep", "os.linesep"), "find gone"),
    "edited statement is deleted": Case(
        EDIT,
        CLEARED,
        "already gone",
        "drop",
        evidence="upstream deleted what it changes, and nothing stands in its place",
    ),
    "upstream makes the edit": Case(
        EDIT,
        ENGINE.replace("os.sep", "npu.sep").replace("times=1):", "times=1):  # new"),
        "absorbed",
        "drop",
        evidence="upstream's code is what the operation makes of it, layout and comments aside",
    ),
    "upstream makes the edit, and other changes": Case(
        EDIT,
        ENGINE.replace("os.sep", "npu.sep").replace("range(times)", "range(2)"),
        "absorbed",
        "drop",
        evidence="stands in its place",
    ),
    "edit of a docstring is not absorbed by equal code": Case(
        """@edited(('"GPU"', '"NPU"'), why='x')\ndef third(): ...\n""",
        RETURNS.format("TPU"),
        "find gone",
        before=RETURNS.format("GPU"),
    ),
    "addition that upstream has": Case(
        HELPER, ENGINE + "\n    def helper():\n        return 2  # two\n", "absorbed", "drop"
    ),
    "addition whose name is taken": Case(HELPER, ENGINE + "\n    def helper():\n        return 3\n", "taken"),
    "deletion of a renamed method": Case(STOPS, HALTED, "renamed", "retarget", "Engine.halt"),
    "deletion of a renamed method that is used": Case(
        STOPS,
        HALTED.replace("return self.state\n\n", "return self.halt()\n\n"),
        "already gone",
        "drop",
        evidence="`pkg/engine.py:Engine.halt` is like it (1.00), and stays: line 9 of pkg/engine.py names it",
    ),
    "deletion of a method like a new one": Case(
        STOPS,
        HALTED.replace('"stopped"', '"gone"'),
        "already gone",
        "drop",
        evidence="and stays: its body changed",
    ),
    "emptied module": Case('deleted("*", why="x")\n', ENGINE.replace('"stopped"', '"gone"'), "fits", "applies"),
    "emptied module with new names": Case(
        'deleted("*", why="x")\n',
        ENGINE + "\n    import sys\n    BOUND = 1\n    class New:\n        x = 1\n",
        "body changed",
        "applies",
        evidence="it deletes, too, what was not there before: `BOUND`, `New`",
    ),
    "addition to a class that is gone": Case(
        'class Engine:\n    @added(why="x")\n    def helper(self):\n        return 2\n',
        "LIMIT = 1\n",
        "retired",
        evidence="pkg/engine.py has no class `Engine`",
    ),
    "deletion of another value": Case(DELETED, ENGINE.replace("LIMIT = 1", "LIMIT = 2"), "other value", "relock"),
    "deletion of a function with another body": Case(STOPS, ENGINE.replace('"stopped"', '"gone"'), "body changed"),
    "class is gone": Case(
        WRAP,
        "class Other:\n    pass\n",
        "retired",
        "drop",
        before=ENGINE + "\n    class Other:\n        pass\n",
        evidence="pkg/engine.py has no class `Engine`",
    ),
    "class and all beside it are gone": Case(WRAP, "class Other:\n    pass\n", "retired"),
    "defined twice": Case(DELETED, ENGINE.replace("LIMIT = 1", "LIMIT = 1\n    LIMIT = 1"), "ambiguous"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_verdict(tmp_path: Path, case: Case) -> None:
    found = of(tmp_path, case.overlay, case.after, before=case.before)
    assert (found.kind, "applies" if found.applies else found.proposal) == (case.kind, case.proposal), found
    assert found.to.partition(":")[2] == case.to
    assert case.evidence in found.evidence


def test_a_wrapper_that_stays_asks_about_a_decorator_only_if_there_is_one(tmp_path: Path) -> None:
    wrapper = WRAP.replace("times=1", "times=...")
    found = became(tmp_path, {"pkg/engine.py": ENGINE}, wrapper, {"pkg/engine.py": ENGINE.replace("=1)", "=2)")})
    assert (found.proposal, found.change) == ("keep", "`times` is 2 by default now, not 1")
    assert found.unknown == "whether the function is still what the change is for: syntax says only how it is called"


@pytest.mark.parametrize(("after", "proposal"), [("os.sep", "follow"), ("2", "")])
def test_a_wrapper_that_answers_itself_does_not_follow_a_function_of_another_body(
    tmp_path: Path, after: str, proposal: str
) -> None:
    answers = "if times > 5:\n                return None\n            return upstream(self, times)"
    overlay = START.format(mark='wrapped(why="x")', body=answers)
    found = of(tmp_path, overlay, ENGINE.replace("times=1", "times").replace("os.sep", after))
    assert (found.kind, found.proposal) == ("signature changed", proposal)
    assert ("its body changed" in found.unknown) == (not proposal)


def judged_unlocked(
    tmp_path: Path, before: str | None, overlay: str, after: str | None, new: Mapping[str, str] = NOTHING
) -> Verdict:
    """Return the verdict on an operation that was not locked, as that of a layer from a later version on."""
    content = load(tmp_path / "o", write(tmp_path / "o", {"tree/pkg/engine.py": overlay}))
    names = DefinedNames(names_of(content.operations))
    states: list[dict[str, bytes]] = []
    for one in (before, after):
        files = {} if one is None else {"pkg/engine.py": text(one).encode()}
        states.append(files | {"pkg/__init__.py": b""})
    states[1] |= {path: text(one).encode() for path, one in new.items()}
    first, now = (snapshot_of(source_tree(files), names) for files in states)
    (operation,) = content.operations
    return Classifier(content, (), first).verdict(operation, now, LandedCommits())


def test_an_edit_that_was_not_locked_and_does_not_fit(tmp_path: Path) -> None:
    found = judged_unlocked(tmp_path, ENGINE, EDIT, ENGINE.replace("os.sep", "os.linesep"))
    assert (found.kind, found.proposal) == ("find gone", "")


def test_a_target_that_came_follows_as_those_that_were_there_do(tmp_path: Path) -> None:
    found = judged_unlocked(tmp_path, ENGINE, WRAP, ENGINE.replace("times=1", "times"))
    assert (found.kind, found.proposal) == ("signature changed", "follow")
    assert found.wanted
    assert "def start(self, times):" in found.wanted.text


@pytest.mark.parametrize(
    ("overlay", "before", "after", "target"),
    [
        (WRAP, None, None, "pkg/engine.py"),
        (WRAP, None, "import os\n\nlogger = os\n\ndef stop():\n    return 1\n", "pkg/engine.py:Engine.start"),
        (WRAP, "x = 1\n", None, "pkg/engine.py:Engine.start"),
        (STOPS, "x = 1\n", "y = 1\n", "pkg/engine.py:Engine.stop"),
        (HELPED_ONE, None, None, "pkg/engine.py"),
        (HELPED_ONE, "x = 1\n", "y = 1\n", "pkg/engine.py:Engine"),
    ],
)
def test_what_neither_version_has_is_not_gone(
    tmp_path: Path, overlay: str, before: str | None, after: str | None, target: str
) -> None:
    found = judged_unlocked(tmp_path, before, overlay, after)
    # An addition may be for something else, which stands.
    assert (found.kind, found.proposal) == ("absent", "" if overlay == HELPED_ONE else "drop")
    assert found.evidence == found.change == f"neither the old pin nor the new one has {target}"
    assert found.unknown == "whether the change is needed in another place there"


def test_what_neither_version_has_and_a_new_file_may_have_is_for_a_person(tmp_path: Path) -> None:
    found = judged_unlocked(tmp_path, None, WRAP, None, {"pkg/other.py": ENGINE})
    assert (found.kind, found.proposal) == ("absent", "")
    assert found.unknown == "whether the change is needed at `pkg/other.py:Engine.start`"


@pytest.mark.parametrize(("before", "kind"), [(None, "find gone"), (ENGINE, "moved")])
def test_what_stood_in_a_new_file_moved_from_nowhere(tmp_path: Path, before: str | None, kind: str) -> None:
    after = ENGINE.replace(CALL, "self.step(number)") + f"\n        def step(self, number):\n            {CALL}\n"
    found = judged_unlocked(tmp_path, before, EDIT, after)
    assert (found.kind, bool(found.proposal)) == (kind, kind == "moved")


def test_a_class_that_moved_to_another_file(tmp_path: Path) -> None:
    found = became(
        tmp_path, {"pkg/engine.py": ENGINE}, WRAP, {"pkg/new/motor.py": ENGINE, "pkg/engine.py": "import os\n"}
    )
    assert (found.kind, found.to) == ("moved", "pkg/new/motor.py:Engine.start")
    gone = became(tmp_path, {"pkg/engine.py": ENGINE}, WRAP, {"pkg/new/motor.py": ENGINE})
    assert (gone.kind, gone.to) == ("moved", "pkg/new/motor.py:Engine.start")


OTHER = ENGINE.replace("class Engine", "class Motor")


@pytest.mark.parametrize(
    ("after", "change"),
    [
        ({"pkg/engine.py": OTHER}, "`Engine` stands as `Motor` now"),
        ({"pkg/engine.py": "import os\n", "pkg/b.py": OTHER}, "`Engine` stands as `pkg/b.py:Motor` now"),
        ({"pkg/b.py": ENGINE}, "definitions of `pkg/engine.py` stand in `pkg/b.py` now"),
    ],
    ids=["class-renamed", "class-in-another-file", "file-renamed"],
)
def test_members_that_moved_together_have_one_cause(tmp_path: Path, after: dict[str, str], change: str) -> None:
    before = {"pkg/engine.py": ENGINE}
    wraps = "class Engine:\n    @wrapped(why='x')\n    def stop(self):\n        return upstream(self)\n"
    found = [became(tmp_path / str(number), before, one, after) for number, one in enumerate((WRAP, wraps))]
    assert [(one.proposal, one.change) for one in found] == [("retarget", change)] * 2


def test_what_got_another_name_in_its_class_is_a_cause_of_its_own(tmp_path: Path) -> None:
    assert of(tmp_path, WRAP, BEGUN).change == "`Engine.start` stands as `Engine._begin` now"


def test_members_whose_lines_stand_in_one_other_file_have_one_cause(tmp_path: Path) -> None:
    functions = "".join(
        f"\ndef f{number}(value):\n    return one(value, {number}) + two(value)\n" for number in range(2)
    )
    inlined = functions.replace("def f", "def use").replace("(value):", "(value, more):")
    files = [{"pkg/engine.py": f"x = 1\n{functions}"}, {"pkg/engine.py": "x = 1\n", "pkg/other.py": inlined}]
    overlays = [f"@wrapped(why='x')\ndef f{number}(value):\n    return upstream(value)\n" for number in range(2)]
    found = [became(tmp_path / str(number), files[0], one, files[1]) for number, one in enumerate(overlays)]
    change = "lines of `pkg/engine.py` stand in `pkg/other.py` now"
    assert [(one.kind, one.proposal, one.change) for one in found] == [("retired", "", change)] * 2


def test_a_copy_outside_the_package_is_no_successor(tmp_path: Path) -> None:
    files = {"recipe/engine.py": ENGINE, "pkg/other.py": "x = 1\n"}
    assert became(tmp_path, {"pkg/engine.py": ENGINE}, WRAP, files).kind == "retired"


def test_a_member_stays_with_its_class(tmp_path: Path) -> None:
    """One of the same name and parameters in another class that is new is not it, where its class moved."""
    other = ENGINE.replace("class Engine", "class Motor")
    moved = ENGINE.replace("self.run(number, os.sep)", "self.run(number, 1, 2, 3)")
    files = {"pkg/engine.py": "import os\n", "pkg/a.py": other, "pkg/b.py": moved}
    found = became(tmp_path, {"pkg/engine.py": ENGINE}, WRAP, files)
    assert (found.kind, found.to) == ("moved", "pkg/b.py:Engine.start")


@pytest.mark.parametrize(
    ("overlay", "symbol"),
    [
        (WRAP, "Engine.start"),
        (EDIT, "Engine.start"),
        ('class Engine:\n    deleted("stop", why="x")', "Engine.stop"),
        ('@edited(("value + 1", "value"), why="x")\ndef scale(): ...', "scale"),
        ('@wrapped(why="x")\ndef scale(value):\n    return upstream(value)', "scale"),
    ],
)
def test_what_moved_and_is_imported_where_it_was_is_found(tmp_path: Path, overlay: str, symbol: str) -> None:
    before = (
        f"{ENGINE}\n    def scale(value):\n        other = [value + 1, value]\n        return max(other) + len(other)\n"
    )
    files = {"pkg/engine.py": "from pkg.new import Engine, scale\n", "pkg/new.py": before}
    found = became(tmp_path, {"pkg/engine.py": before}, overlay, files)
    assert (found.kind, found.proposal, found.to) == ("moved", "retarget", f"pkg/new.py:{symbol}")


def test_a_member_of_another_class_is_not_it(tmp_path: Path) -> None:
    """Its body alone is alike: the class is another, and something else of that name moved there."""
    body = ENGINE.partition("class Engine:")[2].partition("def stop")[0]
    far = "\n".join(
        f"        def other{number}(self):\n            return {number} + self.x[{number}]" for number in range(9)
    )
    found = became(
        tmp_path,
        {"pkg/engine.py": ENGINE},
        WRAP,
        {"pkg/engine.py": "import os\n", "pkg/new.py": f"    class Other:{body}\n{far}\n"},
    )
    assert (found.kind, found.proposal) == ("retired", "")
    twins = ENGINE + ENGINE.replace("class Engine", "class Motor").replace("import os\n\n    LIMIT = 1\n", "")
    moved = ENGINE.replace("class Engine", "class Motor")
    found = became(tmp_path, {"pkg/engine.py": twins}, WRAP, {"pkg/engine.py": "import os\n", "pkg/new.py": moved})
    assert (found.kind, found.proposal) == ("retired", "")


FORM = """
    from npu_overlays.markers import like

    @wrapped(targets=like("pkg/a.py:rotate", within="pkg/*.py"), why="x")
    def rotate(q):
        return q if q.fused else upstream(q)
"""
ROTATE = "def rotate(q):\n    return -q\n"


@pytest.mark.parametrize(
    ("model", "member", "proposals"),
    [
        ('@forward("x")', '@forward("x")', ["keep", "keep"]),
        ('@forward("x")', '@forward("y")', ["keep", ""]),
        # The model is a person's to decide about, and so is what is decorated as it is.
        ('@forward("y")', '@forward("y")', ["", ""]),
    ],
)
def test_a_member_of_a_form_stays_where_its_model_does_and_is_decorated_as_that(
    tmp_path: Path, model: str, member: str, proposals: list[str]
) -> None:
    overlay = find_overlay(tmp_path, write(tmp_path, {"shared/a.py": FORM}))
    (operation,) = models_of(overlay, "1.0")
    assert operation.like
    content = load_content(overlay, "1.0", {operation.like: ("pkg/a.py:rotate", "pkg/b.py:rotate")})
    before = {"pkg/a.py": f'@func("x")\n{ROTATE}', "pkg/b.py": ROTATE}
    after = {"pkg/a.py": f"{model}\n{ROTATE}", "pkg/b.py": f"{member}\n{ROTATE}"}
    trees = [source_tree({path: one.encode() for path, one in files.items()}) for files in (before, after)]
    first, now = (snapshot_of(tree, DefinedNames(frozenset({"rotate"}))) for tree in trees)
    locked = contracts(content, trees[0], model_of(content.overlay.pin, trees[0]).classes)
    classifier = Classifier(content, locked, first)
    assert [classifier.verdict(one, now, LandedCommits()).proposal for one in classifier.operations] == proposals


ELSEWHERE = "\n    def helper(engine, number):\n        engine.run(number, os.sep)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ENGINE, CLEARED.replace("return self.state\n\n", "return self.state, os.linesep\n\n", 1)),  # in its place
        (ENGINE, CLEARED.replace("LIMIT = 1", "LIMIT = 1\n    print(os.sep)")),  # elsewhere in the file
        (ENGINE, CLEARED.replace("LIMIT = 1", "LIMIT = {'class': 'os.sep'}")),  # as a text
        (f"{ENGINE}{ELSEWHERE}", f"{CLEARED}{ELSEWHERE.replace('os.sep', 'os.sep, os.sep')}"),
    ],
)
def test_an_edit_of_a_statement_that_may_be_elsewhere_is_for_a_person(tmp_path: Path, before: str, after: str) -> None:
    found = of(tmp_path, EDIT, after, before=before)
    assert (found.kind, found.proposal) == ("find gone", "")


MAKES = """
    class Engine:
        def __init__(self, cfg):
            self.a = cfg.a
            self.b = cfg.b
            self.engine = make(device="cuda")
            self.device = "cuda"
            sync(cfg.group, self.b)
            self.c = cfg.c

            made = first if cfg.a else second
            log(cfg.c)
            made(cfg.c)
            log(cfg.b)

        def go(self):
            return self.device
"""
GOES = "def go(self):\n            return self.device\n"
PROPERTY = f'{GOES}\n        @property\n        def device(self):\n            return "cuda"\n'


@pytest.mark.parametrize(
    ("find", "moved", "kind"),
    [
        ('self.engine = make(device="cuda")', ("", ""), "already gone"),
        (
            'self.engine = make(device="cuda")',
            ("self.a = cfg.a\n", 'self.engine = make(cfg.x, device="cuda")\n            self.a = cfg.a\n'),
            "find gone",
        ),
        (
            'make(device="cuda")',
            ("self.a = cfg.a\n", "self.engine = build()\n            self.a = cfg.a\n"),
            "find gone",
        ),
        ('self.device = "cuda"', ("self.c = cfg.c\n", "self.c = cfg.c, 1\n"), "find gone"),
        ('self.device = "cuda"', ("(self, cfg):\n", "(self, cfg, more=0):\n            'Make it.'\n"), "already gone"),
        ("log(cfg.b)", ("made(cfg.c)\n", "made(cfg.c)\n            logger.info(everything)\n"), "find gone"),
        ('self.device = "cuda"', (GOES, PROPERTY), "find gone"),
        ("sync(cfg.group, self.b)", ("go(self):\n", "go(self):\n            sync(group, self.b)\n"), "find gone"),
        ("sync(cfg.group, self.b)", ("go(self):\n", "go(self):\n            log(self.b)\n"), "already gone"),
        ("made = first if cfg.a else second", ("made(cfg.c)\n", "second(cfg.c)\n"), "find gone"),
        ("made = first if cfg.a else second", ("            made(cfg.c)\n", ""), "already gone"),
        ("sync(cfg.group, self.b)", ("log(cfg.b)\n", "log(cfg.b)\n            log(self.b)\n"), "find gone"),
    ],
)
def test_an_edit_of_a_statement_that_moved_and_changed_is_for_a_person(
    tmp_path: Path, find: str, moved: tuple[str, str], kind: str
) -> None:
    """It binds what the other did, as a member of the class too, or says most of what the edit looks for."""
    overlay = f"class Engine:\n    @edited(({find!r}, 'npu()'), why='x')\n    def __init__(self, cfg): ...\n"
    after = "".join(line for line in MAKES.splitlines(keepends=True) if find not in line)
    assert of(tmp_path, overlay, after.replace(*moved) if moved[0] else after, before=MAKES).kind == kind


@pytest.mark.parametrize(
    ("path", "before", "after", "kind"),
    [
        ("pkg/b.py", "def make():\n    return 1\n", "def make():\n    return os.sep\n", "find gone"),
        ("pkg/b.py", "", "def make():\n    return os.sep\n", "find gone"),
        ("pkg/b.py", "def make():\n    return os.sep\n", "def make():\n    return [os.sep]\n", "already gone"),
        ("pkg/b.py", "def make():\n    return 1\n", "def make():\n    return '.sep', os\n", "already gone"),
        ("tests/b.py", "", "def make():\n    return os.sep\n", "already gone"),
    ],
)
def test_an_edit_of_a_statement_that_may_be_in_another_file_is_for_a_person(
    tmp_path: Path, path: str, before: str, after: str, kind: str
) -> None:
    files = [{"pkg/engine.py": ENGINE, path: before}, {"pkg/engine.py": CLEARED, path: after}]
    found = became(tmp_path, files[0], EDIT, files[1])
    assert (found.kind, found.proposal) == (kind, "drop" if kind == "already gone" else "")
    assert found.evidence.endswith("did not before: pkg/b.py") == (kind == "find gone")


def test_of_files_in_which_a_statement_may_be_those_that_are_called_come_first(tmp_path: Path) -> None:
    files = {f"pkg/{name}.py": f"def {name}():\n    return os.sep\n" for name in "abcde"}
    before = {"pkg/engine.py": ENGINE.replace("return self.state", "return d()")}
    after = {"pkg/engine.py": CLEARED.replace("return self.state", "return d()"), **files}
    found = became(tmp_path, before, EDIT, after)
    assert found.evidence.endswith("before: pkg/d.py, pkg/a.py, pkg/b.py, … (5 in all)")


def test_a_module_that_was_renamed_only_holds_nothing_new(tmp_path: Path) -> None:
    module = "def make():\n    return os.sep\n"
    files = [{"pkg/engine.py": ENGINE, "pkg/b.py": module}, {"pkg/engine.py": CLEARED, "pkg/c.py": module}]
    assert became(tmp_path, files[0], EDIT, files[1]).kind == "already gone"


TWICE = """
    def first(n):
        n = n.cuda()
        m = n
        return m

    def second(n):
        n = n.cuda()
        n = n.cpu()
        return n
"""


@pytest.mark.parametrize(
    ("symbol", "edit", "now", "kind"),
    [
        ("first", '"n.cuda()", "n"', 'n = n.to("cuda")', "find gone"),
        ("first", '"n.cuda()", "n"', "n = n", "absorbed"),
        ("first", '"n = n.cuda()", "n = n.cpu()"', 'n = n.to("cuda")', "find gone"),
        ("second", '"n = n.cuda()", "n = n.cpu()"', 'n = n.to("cuda")', "find gone"),
        ("second", '"n.cuda()", "n.npu()"', "if n:\n            n = n.npu()", "find gone"),
        ("second", '"n.cuda()", "n.npu()"', "n = n.npu()\n        log(n)", "find gone"),
        ("second", '"n.cuda()", "n.npu()"', "n = n.npu()", "absorbed"),
        ("second", '"n = n.cuda()", "n.npu()"', "n = n.npu()", "absorbed"),
        ("second", '"n = n.cuda()", "n.npu()"', "n = g(n.npu()) - 1", "absorbed"),
        ("second", '"n.cuda()", "n.npu()"', "n = n.npu() - 1", "find gone"),
        ("second", '"n.cuda()", "n.npu()"', "n = n.npu().half()", "find gone"),
        ("second", '"n = n.cuda()", "n + 2"', "n = n + 2 * n", "find gone"),
    ],
)
def test_an_edit_is_absorbed_where_its_statement_became_what_it_makes_of_it(
    tmp_path: Path, symbol: str, edit: str, now: str, kind: str
) -> None:
    """Upstream changed something else, too; what it puts may have stood there before, or be a word of much."""
    overlay = f"@edited(({edit}), why='x')\ndef {symbol}(n): ...\n"
    after = TWICE.replace("n = n.cuda()", now).replace("return", "log(n)\n        return")
    assert of(tmp_path, overlay, after, before=TWICE).kind == kind


def test_deleted_and_gone(tmp_path: Path) -> None:
    found = of(tmp_path, DELETED, ENGINE.replace("LIMIT = 1", "BOUND = 1"))
    assert (found.kind, found.proposal) == ("already gone", "drop")
    assert found.evidence == "pkg/engine.py has no `LIMIT`; new there: `BOUND`"
    gone = became(tmp_path, {"pkg/engine.py": ENGINE}, DELETED, {"pkg/a.py": "a = 1\n"})
    assert (gone.kind, gone.proposal) == ("already gone", "drop")


HELPED = """
    class Engine:
        @added(why="x")
        def helper(self):
            return self.more()

        @added(why="x")
        def more(self):
            return 2

        @wrapped(why="x")
        def start(self, times=1):
            return upstream(self, times) + self.helper()
"""


def test_a_helper_goes_with_what_uses_it(tmp_path: Path) -> None:
    rest, before = "REST = 1\n", f"{ENGINE}\n    REST = 1\n"
    found = became(tmp_path / "class", {"pkg/engine.py": before}, HELPED, {"pkg/engine.py": rest})
    assert (found.kind, found.proposal) == ("retired", "drop")
    said = "pkg/engine.py has no class `Engine`, and `Engine.start` with it; this was added for `Engine.start`"
    assert found.evidence == said
    user = "from pkg.engine import Engine\n"
    gone = became(tmp_path / "file", {"pkg/engine.py": before, "pkg/a.py": user + rest}, HELPED, {"pkg/a.py": rest})
    assert (gone.kind, gone.proposal) == ("retired", "drop")
    gone = became(tmp_path / "all", {"pkg/engine.py": before}, HELPED, {"pkg/a.py": rest})
    assert (gone.kind, gone.proposal) == ("retired", "")
    assert "no file that had, used or imported it has anything left" in gone.unknown


def test_a_helper_stays_where_a_person_decides_on_what_uses_it(tmp_path: Path) -> None:
    found = of(tmp_path, HELPED, "Engine = make()\n")
    assert (found.kind, found.proposal) == ("retired", ""), found


def test_a_helper_goes_where_its_class_went(tmp_path: Path) -> None:
    found = became(tmp_path, {"pkg/engine.py": ENGINE}, HELPED, {"pkg/new.py": ENGINE})
    assert (found.kind, found.proposal, found.to) == ("moved", "retarget", "pkg/new.py:Engine.helper")


def test_a_package_that_left(tmp_path: Path) -> None:
    found = became(tmp_path, {"pkg/engine.py": ENGINE}, WRAP, {"other/a.py": "a = 1\n"})
    assert (found.kind, found.proposal, found.evidence) == ("left", "drop", "there is no pkg/ any more")


@pytest.mark.parametrize(
    ("after", "said", "kind", "proposal"),
    [
        ({"lib/flow/engine.py": ENGINE}, {}, "moved", "retarget"),
        # There are two, or it is right below the folder that left, or was there before.
        ({"lib/flow/engine.py": ENGINE, "new/flow/engine.py": ENGINE}, {}, "left", "drop"),
        ({"lib/engine.py": ENGINE}, {}, "left", "drop"),
        ({"lib/old/flow/engine.py": ENGINE}, {}, "left", "drop"),
        # The overlay says it there already.
        ({"lib/flow/engine.py": ENGINE}, {"lib/flow/engine.py": WRAP}, "left", "drop"),
        # Something else, or nothing like it, stands in what seems to be its file.
        ({"lib/flow/engine.py": "class Engine:\n    pass\n"}, {}, "left", ""),
    ],
)
def test_a_file_of_a_package_that_left_may_have_stayed_in_another(
    tmp_path: Path, after: dict[str, str], said: dict[str, str], kind: str, proposal: str
) -> None:
    """Upstream moved some of its recipes into the package in the commit in which the others left."""
    before = {"pkg/flow/engine.py": ENGINE, "lib/old/flow/engine.py": ENGINE}
    found = became(tmp_path, before, WRAP, after, path="pkg/flow/engine.py", **said)
    assert (found.kind, found.proposal) == (kind, proposal), found.evidence
    assert found.to == ("lib/flow/engine.py:Engine.start" if proposal == "retarget" else "")


def test_what_was_forwarded_and_landed_is_proposed_even_where_it_applies(tmp_path: Path) -> None:
    overlay = WRAP.replace('why="x"', 'why="x", forwarded="https://example.invalid/pkg/pull/12"')
    commit = UpstreamCommit(id="c" * 40, date="2025-01-02", subject="[engine] fix: start (#12)")
    found = of(tmp_path, overlay, ENGINE, commit)
    assert (found.kind, found.applies, found.proposal) == ("absorbed", True, "drop")
    assert "2025-01-02" in found.evidence
    assert "; it still applies; see that it came with its NPU part" in found.evidence
    edit = EDIT.replace('why="x"', 'why="x", forwarded="https://example.invalid/pkg/pull/12"')
    other = of(tmp_path / "2", edit, ENGINE.replace("os.sep", "os.linesep"), commit)
    assert "; what stands there is not what it makes of it; see" in other.evidence
    revert = UpstreamCommit(id="d" * 40, date="2025-01-03", subject='Revert "[engine] fix: start (#12)" (#13)')
    assert of(tmp_path, overlay, ENGINE, commit, revert).kind == "fits"


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        ("https://github.com/volcengine/pkg/pull/12", ("12",)),
        ("https://github.com/Volcengine/pkg/commit/0123abcd", ("0123abcd",)),
        (
            "https://gitlab.com/pkg-project/pkg/-/merge_requests/3 and https://github.com/pkg-project/pkg/pull/4",
            ("3", "4"),
        ),
        ("https://github.com/x/pkg/pull/12", ()),
        ("https://github.com/pytorch/tensordict/pull/7", ()),
        ("#8, and later #9", ("8", "9")),
        ("asked on the mailing list", ()),
    ],
)
def test_references(forwarded: str, expected: tuple[str, ...]) -> None:
    """Of what upstream is, and was before it was renamed; a fork counts its own pull requests."""
    repositories = ("https://github.com/volcengine/pkg.git", "git@github.com:pkg-project/pkg")
    assert references(forwarded, repositories) == expected


@pytest.mark.parametrize("forwarded", ["#12", "cccccccc"])
def test_what_was_taken_back_has_not_landed_whatever_it_is_called_by(forwarded: str) -> None:
    landed = LandedCommits()
    landed.note([UpstreamCommit(id="c" * 40, date="2025-01-02", subject="fix: start (#12)")])
    assert landed.find(references(forwarded, ())) is not None
    landed.note([UpstreamCommit(id="d" * 40, date="2025-01-03", subject='Revert "fix: start (#12)" (#15)')])
    assert landed.find(references(forwarded, ())) is None
    assert landed.find(["15"]) is not None
    landed.note([UpstreamCommit(id="9" * 40, date="2025-01-04", subject='Revert "something older (#7)" (#14)')])
    assert landed.find(["15"]) is not None
    landed.note([UpstreamCommit(id="e" * 40, date="2025-01-04", subject="fix: start again (#16)")])
    landed.note([UpstreamCommit(id="f" * 40, date="2025-01-05", subject='Revert "fix: start again"')])
    assert landed.find(["eeeeeeee"]) is landed.find(["16"]) is None


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ('Revert "Revert "fix: start (#12)" (#15)" (#16)', ""),
        ('Revert "Revert "fix: start (#12)"" (#16)', ""),
        ('Reapply "fix: start (#12)"', f"This reverts commit {'d' * 40}.\n"),
    ],
)
def test_what_is_taken_back_comes_back_where_that_is_taken_back_itself(subject: str, body: str) -> None:
    landed = LandedCommits()
    landed.note([UpstreamCommit(id="c" * 40, date="2025-01-02", subject="fix: start (#12)")])
    landed.note([UpstreamCommit(id="d" * 40, date="2025-01-03", subject='Revert "fix: start (#12)" (#15)')])
    landed.note([UpstreamCommit(id="e" * 40, date="2025-01-04", subject=subject, body=body)])
    assert str(landed.find(["12"])).startswith("ccccccccc")
    assert landed.find(["15"]) is None
    landed.note(
        [UpstreamCommit(id="f" * 40, date="2025-01-05", subject="Revert it", body=f"This reverts commit {'e' * 40}.")]
    )
    assert landed.find(["12"]) is None


@pytest.mark.parametrize(
    ("subject", "body", "reverts"),
    [
        ("[revert] fix: start engines at once (#12) (#15)", "", True),
        ('[engine] fix: Revert "fix: start engines at once" (#15)', "", True),
        ('revert: "fix: start engines at once" (#15)', "", True),
        ('Revert "fix: start engines…" (#15)', "", True),
        ('Revert "fix: start engines..."', "", True),
        ("[engine] fix: hangs (#15)", "It hangs.\n\nThis reverts commit cccccccccccc.\n", True),
        ("[engine] fix: hangs (#15)", "Reverts pkg-project/pkg#12\n", True),
        ("[engine] fix: hangs (#15)", "Reverts pkg-project/pkg#121\n", False),
        ("[engine] fix: hangs (#15)", "Previous PR #12 is reverted due to a hang.\n", False),
        ("[engine] fix: revert the start of engines (#15)", "", False),
        ("revert to the start of engines (#15)", "", False),
        ('Revert "fix: start…er" (#15)', "", False),
        ('Revert "…" (#15)', "", False),
    ],
)
def test_a_revert_in_whatever_words(subject: str, body: str, *, reverts: bool) -> None:
    landed = LandedCommits()
    landed.note([UpstreamCommit(id="c" * 40, date="2025-01-02", subject="fix: start engines at once (#12)")])
    landed.note([UpstreamCommit(id="d" * 40, date="2025-01-03", subject=subject, body=body)])
    assert (landed.find(["12"]) is None) == reverts


ADDS = """
[[tool.overlay.edit]]
paths = ["pkg/a.yaml"]
find = "limit: 1\\n"
replace = "limit: 1\\n# The NPU's.\\nsizes: null\\n"
why = "x"
"""


@pytest.mark.parametrize(
    ("after", "kind", "proposal", "evidence"),
    [
        (b"limit: 1\n", "fits", "", ""),
        (b"limit: 1\nsizes: null\n", "absorbed", "drop", "upstream has `sizes` now, as it adds it"),
        (b"limit: 1\nsizes: [1]\n", "taken", "", "upstream has `sizes` now, and other than it adds it"),
    ],
)
def test_a_substitution_that_adds_a_key(tmp_path: Path, after: bytes, kind: str, proposal: str, evidence: str) -> None:
    """What it looks for stands there; in YAML, of two keys the last one counts."""
    name = write(tmp_path / "o", {"tree/pkg/new.py": b"x = 1\n"})
    config = tmp_path / "o" / name / "pyproject.toml"
    config.write_text(config.read_text() + ADDS)
    base, now = (snapshot_of(source_tree({"pkg/a.yaml": one}), DefinedNames(())) for one in (b"limit: 1\n", after))
    ((_, found),) = SubstitutionVerdicts(base).verdicts(load(tmp_path / "o", name).edits, now)
    assert (found.kind, found.proposal, found.evidence) == (kind, proposal, evidence)


PAIR = '[[tool.overlay.edit]]\npaths = ["pkg/{}"]\nfind = "  y: g\\n"\nreplace = "  y: G\\n"\nwhy = "x"\n'
BLOCKS = "one:\n  x: f\n  y: g\ntwo:\n  x: h\n  z: 1\n"


@pytest.mark.parametrize("name", ["a.yaml", "a.txt"])
@pytest.mark.parametrize(
    ("after", "lead"),
    [
        ("one:\n  x: f\n  y: g\ntwo:\n  x: h\n  y: g\n  z: 1\n", "  x: f\n"),
        # Upstream copied the lines: what stood under `one` stands there still, or stands elsewhere by chance.
        ("one:\n  x: i\n  y: g\ntwo:\n  x: h\n  z: 1\nthree:\n  x: f\n  y: g\n", ""),
        ("zero:\n  x: f\n  y: g\none:\n  x: f\n  w: 0\n  y: g\ntwo:\n  x: h\n  z: 1\n", ""),
    ],
)
def test_a_longer_find_keeps_its_place(tmp_path: Path, name: str, after: str, lead: str) -> None:
    folder = write(tmp_path / "o", {"tree/pkg/new.py": b"x = 1\n"})
    config = tmp_path / "o" / folder / "pyproject.toml"
    config.write_text(config.read_text() + PAIR.format(name))
    trees = [source_tree({f"pkg/{name}": one.encode()}) for one in (BLOCKS, after)]
    base, now = (snapshot_of(tree, DefinedNames(())) for tree in trees)
    ((_, found),) = SubstitutionVerdicts(base).verdicts(load(tmp_path / "o", folder).edits, now)
    assert (found.kind, found.lead, bool(found.proposal)) == ("ambiguous", lead, bool(lead))


SETTINGS = '[[tool.overlay.edit]]\npaths = ["pkg/a.yaml"]\nfind = "limit: 1"\nreplace = "limit: 64"\nwhy = "x"\n'


@pytest.mark.parametrize(
    ("after", "kind", "resolved"),
    [
        (b"a: 0\nlimit: 1\n", "fits", True),
        (b"limit: 64\n", "absorbed", True),
        (b"limit: 1\nother:\n  limit: 1\n", "ambiguous", False),
        (b"bound: 1\n", "find gone", False),
    ],
)
def test_a_substitution(tmp_path: Path, after: bytes, kind: str, resolved: bool) -> None:
    name = write(tmp_path / "o", {"tree/pkg/new.py": b"x = 1\n"})
    config = tmp_path / "o" / name / "pyproject.toml"
    config.write_text(config.read_text() + SETTINGS)
    content = load(tmp_path / "o", name)
    base, now = (
        snapshot_of(source_tree({"pkg/a.yaml": one}), DefinedNames(())) for one in (b"a: 0\nlimit: 1\n", after)
    )
    ((_, verdict),) = SubstitutionVerdicts(base).verdicts(content.edits, now)
    assert (verdict.kind, verdict.resolved) == (kind, resolved)
    assert file_verdict(content.files[0], now).kind == "fits"
    there = snapshot_of(source_tree({"pkg/new.py": b"x = 1\n"}), DefinedNames(()))
    assert file_verdict(content.files[0], there).kind == "absorbed"
    assert [verdict.kind for _, verdict in SubstitutionVerdicts(base).verdicts(content.edits, there)] == ["retired"]


@pytest.mark.parametrize(
    ("now", "kinds", "evidence"),
    [
        (b"1\nb\n", ["fits", "fits", "fits"], ""),
        (b"2\nb\n", ["absorbed", "fits", "fits"], "all of it is upstream"),
        (
            b"9\nb\n",
            ["does not fit", "does not fit", "fits"],
            "it is made for what 1.patch leaves, which does not fit: ",
        ),
    ],
)
def test_each_patch_is_tried_on_what_those_before_it_leave(
    tmp_path: Path, environment: Environment, now: bytes, kinds: list[str], evidence: str
) -> None:
    before = {"pkg/a.txt": b"1\nb\n", "pkg/b.txt": b"1\n"}
    middle = {**before, "pkg/a.txt": b"2\nb\n"}
    files: dict[str, str | bytes] = {
        "patches/1.patch": b"Why: 1\n" + git_diff(environment, before, middle),
        "patches/2.patch": b"Why: 2\n" + git_diff(environment, middle, {"pkg/a.txt": b"3\nb\n"}),
        "patches/3.patch": b"Why: 3\n" + git_diff(environment, before, {"pkg/b.txt": b"2\n"}),
    }
    content = load(tmp_path / "o", write(tmp_path / "o", files))
    there = snapshot_of(source_tree({**before, "pkg/a.txt": now}), DefinedNames(()))
    found = [verdict for _, verdict in patch_verdicts(content.patches, there)]
    assert [one.kind for one in found] == kinds
    assert evidence in "".join(one.evidence for one in found)


def substituted(  # noqa: PLR0913  # what upstream had, what it has, and what is said of it
    tmp_path: Path, path: str, change: tuple[str, str], before: str, after: str, *, there: str = ""
) -> Verdict:
    """Return the verdict on one substitution in a file, which may have another name."""
    find, replace = map(json.dumps, change)
    name = write(tmp_path / "o", {"tree/pkg/new.py": b"x = 1\n"})
    config = tmp_path / "o" / name / "pyproject.toml"
    said = f"paths = [{path!r}]\nfind = {find}\nreplace = {replace}\nwhy = 'x'\n"
    config.write_text(f"{config.read_text()}\n[[tool.overlay.edit]]\n{said}")
    states = {path: before.encode()}, {there or path: after.encode()}
    base, now = (snapshot_of(source_tree(one), DefinedNames(())) for one in states)
    ((_, found),) = SubstitutionVerdicts(base).verdicts(load(tmp_path / "o", name).edits, now)
    return found


ROLES = "actor:\n  compile: True\n  lr: 1\nref:\n  compile: False\n"
SAYS_FALSE = ("compile: True", "compile: False")
ADDS_EAGER = ("  lr: 1\n", "  lr: 1\n  eager: False\n")


@pytest.mark.parametrize(
    ("path", "after", "kind", "evidence"),
    [
        ("pkg/a.yaml", "# new\n" + ROLES, "fits", ""),
        (
            "pkg/a.yaml",
            ROLES.replace("actor:", "critic:"),
            "find gone",
            "under `critic.compile`, and stood under `actor.c",
        ),
        ("pkg/a.txt", ROLES.replace("ref:", "other:"), "body changed", "the lines around what it looks for changed"),
        ("pkg/a.txt", ROLES + "more:\n", "fits", ""),
    ],
)
def test_a_substitution_that_fits_somewhere_else_says_so(
    tmp_path: Path, path: str, after: str, kind: str, evidence: str
) -> None:
    found = substituted(tmp_path, path, SAYS_FALSE, ROLES, after)
    assert (found.kind, found.applies) == (kind, kind != "find gone")
    assert evidence in found.evidence


JOBS = "jobs:\n  - run: |\n      first\n      pip install a\n  - run: |\n      second\n"
SECOND = "jobs:\n  - run: |\n      first\n  - run: |\n      second\n      pip install a\n"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (JOBS, SECOND, "find gone"),
        (JOBS, JOBS.replace("second", "other"), "fits"),
        (JOBS, JOBS.replace("jobs:\n", "jobs:\n  - use: x\n    run: y\n"), "body changed"),
        (
            JOBS.replace("- run: |", "- name: x\n    run: |", 1),
            SECOND.replace("- run", "- name: x\n    run"),
            "body changed",
        ),
        (
            JOBS.replace("- run: |", "- name: x\n    run: |", 1),
            JOBS.replace("- run: |", "- use: y\n  - name: x\n    run: |", 1),
            "fits",
        ),
    ],
)
def test_a_substitution_in_one_of_several_items_that_begin_alike(
    tmp_path: Path, before: str, after: str, kind: str
) -> None:
    found = substituted(tmp_path, "pkg/a.yaml", ("pip install a", "pip install b"), before, after)
    assert (found.kind, found.applies) == (kind, kind != "find gone")


@pytest.mark.parametrize(
    ("path", "change", "after", "kind"),
    [
        ("pkg/a.yaml", SAYS_FALSE, ROLES.replace("True", "${x}"), "find gone"),
        ("pkg/a.yaml", SAYS_FALSE, ROLES.replace("True", "FalseOrNot"), "find gone"),
        ("pkg/a.yaml", SAYS_FALSE, ROLES.replace("  compile: True\n", ""), "find gone"),
        ("pkg/a.yaml", SAYS_FALSE, "# new\n" + ROLES.replace("True\n  lr: 1", "False\n  lr: 2"), "absorbed"),
        ("pkg/a.yaml", SAYS_FALSE, "ref: {}\n" + ROLES.replace("True", "False").split("ref")[0], "absorbed"),
        ("pkg/a.yaml", ADDS_EAGER, ROLES.replace("lr: 1", "lr: 1\n  eager: True") + "  eager: False\n", "taken"),
        ("pkg/a.yaml", ADDS_EAGER, ROLES.replace("  lr: 1", "  eager: False\n  lr: 1"), "absorbed"),
        ("pkg/a.txt", SAYS_FALSE, ROLES.replace("True", "${x}"), "find gone"),
        ("pkg/a.txt", SAYS_FALSE, ROLES.replace("True", "FalseOrNot"), "find gone"),
        ("pkg/a.txt", SAYS_FALSE, "# new\n" + ROLES.replace("True\n  lr: 1", "False\n  lr: 2"), "absorbed"),
        ("pkg/a.txt", SAYS_FALSE, ROLES.replace("actor:\n  compile: True\n  lr: 1\n", ""), "find gone"),
    ],
)
def test_a_substitution_is_absorbed_where_what_it_puts_stands_in_its_place(
    tmp_path: Path, path: str, change: tuple[str, str], after: str, kind: str
) -> None:
    """What it puts stands elsewhere, too, before and after; or as a part of something else."""
    assert substituted(tmp_path, path, change, ROLES, after).kind == kind


@pytest.mark.parametrize(
    ("after", "paths", "proposal"),
    [
        ("lib/config/a.yaml", '"pkg/config/a.yaml"', ""),
        ("lib/config/a.yaml", '"pkg/config/a.yaml", "lib/config/a.yaml"', "drop"),
        ("lib/config/b.yaml", '"pkg/config/a.yaml"', "drop"),
    ],
)
def test_a_substitution_in_a_package_that_left_is_for_a_person_where_its_file_may_have_stayed(
    tmp_path: Path, after: str, paths: str, proposal: str
) -> None:
    name = write(tmp_path / "o", {"tree/pkg/new.py": b"x = 1\n"})
    config = tmp_path / "o" / name / "pyproject.toml"
    config.write_text(config.read_text() + SETTINGS.replace('"pkg/a.yaml"', paths))
    base, now = (
        snapshot_of(source_tree({path: b"limit: 1\n"}), DefinedNames(())) for path in ("pkg/config/a.yaml", after)
    )
    found = dict(
        zip(
            paths.split(", "),
            (verdict for _, verdict in SubstitutionVerdicts(base).verdicts(load(tmp_path / "o", name).edits, now)),
            strict=True,
        )
    )
    assert (found['"pkg/config/a.yaml"'].kind, found['"pkg/config/a.yaml"'].proposal) == ("left", proposal)


SEVERAL = """
    if sys.version_info >= (3, 11):
        def start(x): return [first(x), second(x)]
    else:
        def start(x): return [third(x)]

    class Engine:
        @property
        def speed(self): return self._speed

        @speed.setter
        def speed(self, new): self._speed = [check(new), convert(new), *self.others]
"""
SETTER = """
    class Engine:
        @wrapped(why="w", where="@speed.setter")
        def speed(self, new): upstream(self, new)
"""


@pytest.mark.parametrize(
    ("overlay", "old", "new", "verdict"),
    [
        (
            "@wrapped(why='w', where='if sys.version_info >= (3, 11)')\ndef start(x): return upstream(x)\n",
            "(3, 11)",
            "(3, 12)",
            ("ambiguous", "", ""),
        ),
        (
            "@edited(('first(x)', 'none(x)'), why='w', where='if sys.version_info >= (3, 11)')\ndef start(x): ...\n",
            "(3, 11)",
            "(3, 12)",
            ("moved", "retarget", "pkg/engine.py:start[if sys.version_info >= (3, 12)]"),
        ),
        (
            "@wrapped(why='w', where='#2')\ndef start(x): return upstream(x)\n",
            "    if sys.version_info >= (3, 11):",
            "    def start(x): return 0\n    if sys.version_info >= (3, 11):",
            ("body changed", "", ""),
        ),
        (
            SETTER,
            "def speed",
            "def speed",
            ("fits", "", ""),
        ),
        (
            SETTER,
            " speed",
            " pace",
            ("renamed", "retarget", "pkg/engine.py:Engine.pace[@pace.setter]"),
        ),
        (
            "class Engine:\n    deleted('speed', where='@speed.setter', why='w')\n",
            SEVERAL[SEVERAL.index("        @speed.setter") :],
            "",
            ("already gone", "drop", ""),
        ),
    ],
)
def test_one_of_several_definitions(
    tmp_path: Path, overlay: str, old: str, new: str, verdict: tuple[str, str, str]
) -> None:
    after = SEVERAL.replace(old, new).replace("@speed.", "@pace." if new == " pace" else "@speed.")
    found = of(tmp_path, overlay, after, before=SEVERAL)
    assert (found.kind, found.proposal, found.to) == verdict, found


@pytest.mark.parametrize(
    ("written", "symbol", "expected"),
    [
        (
            "@wrapped(why='w', where='if a')\ndef f(x): return upstream(x)\n",
            "g[if b]",
            "why='w', where=\"if b\")\ndef g(",
        ),
        ("@wrapped(why='w')\ndef f(x): return upstream(x)\n", "g[if b]", "@wrapped(why='w', where=\"if b\")\ndef g("),
        ("@edited(\n    ('a', 'b'),\n    why='w',\n)\ndef f(): ...\n", "f[#2]", "why='w',\n where=\"#2\")\ndef f("),
        ("deleted('f', where='#1', why='w')\n", "g[else]", 'deleted("g", where="else", why=\'w\')\n'),
        (
            "class A:\n    @wrapped(why='w')\n    @f.setter\n    def f(self, x): upstream(self, x)\n",
            "B.g[@g.setter]",
            "class B:\n    g = property()\n\n    @wrapped(why='w')\n    @g.setter\n    def g(self, x): ",
        ),
    ],
)
def test_what_moves_says_which_definition_it_means_there(written: str, symbol: str, expected: str) -> None:
    content = f"from npu_overlays.markers import deleted, edited, upstream, wrapped\n{written}".encode()
    (operation,) = read_operations("o/tree/a.py", content, layer="o", target="a.py")
    text = renamed(operation.text, leaf_of(symbol)) if operation.text else ""
    wanted = replace(operation, path="b.py", symbol=symbol, text=text)
    move = Retarget(operation=operation, wanted=wanted, source=content)
    assert expected in restated([move], {}, source_tree({"b.py": b""}))["b.py"].decode()


BODY = "    low = scale(value, 1)\n    high = scale(value, 2)\n    return low + high\n"
SPREAD = f"def scale(value, by):\n    return value * by\n\n\ndef spread(value):\n{BODY}"
WRAP_SPREAD = '@wrapped(why="x")\ndef spread(value):\n    return upstream(value)\n'
UP = "class Base:\n    def go(self):\n        return 1\n\n\nclass Engine(Base):\n    def go(self):\n        return 2\n"
USED = "\n    def use(self, value):\n        return [self.run(value, 1), self.run(value, 2)]\n"
WRAP_GO = 'class Engine:\n    @wrapped(why="x")\n    def go(self):\n        return upstream(self)\n'
INLINED = SPREAD.replace("def spread(value):", "def use(value):\n    value = int(value)")
PRIVATE = SPREAD.replace(f"def spread(value):\n{BODY}", "def _spread(value):\n    return sum(both(value))\n")


@pytest.mark.parametrize(
    ("before", "overlay", "after", "named"),
    [
        (
            SPREAD + "\n\ndef use(value):\n    value = int(value)\n    return spread(value)\n",
            WRAP_SPREAD,
            INLINED,
            "engine.py",
        ),
        (SPREAD, WRAP_SPREAD, PRIVATE, "_spread"),
        (UP, WRAP_GO, UP.replace("    def go(self):\n        return 2\n", "    size = 2\n"), "the inherited go"),
        (
            UP + USED,
            WRAP_GO,
            UP.replace("    def go(self):\n        return 2\n", USED).replace("Engine", "Motor"),
            "the inherited go",
        ),
    ],
    ids=["body-in-its-caller", "underscore-and-another-body", "inherited-now", "inherited-by-its-renamed-class"],
)
def test_what_may_do_the_work_of_a_missing_function_is_for_a_person(
    tmp_path: Path, before: str, overlay: str, after: str, named: str
) -> None:
    found = of(tmp_path, overlay, after, before=before)
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert named in found.unknown


def test_a_function_that_went_to_another_file_under_a_private_name_is_not_dropped(tmp_path: Path) -> None:
    before = {"pkg/engine.py": SPREAD, "pkg/other.py": "x = 1\n"}
    after = {"pkg/engine.py": SPREAD.partition("def spread")[0], "pkg/other.py": f"def pair(number):\n{BODY}"}
    found = became(tmp_path, before, WRAP_SPREAD, after)
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert "pkg/other.py" in found.unknown


def test_what_is_gone_with_all_of_its_lines_is_dropped(tmp_path: Path) -> None:
    found = of(tmp_path, WRAP_SPREAD, SPREAD.partition("def spread")[0], before=SPREAD)
    assert (found.kind, found.proposal) == ("retired", "drop"), found


TWO = "class A:\n    def go(self):\n        return self.log('cuda')\n\n\nclass Fake:\n    x = 1\n"
EDIT_GO = """class A:\n    @edited(("'cuda'", "'npu'"), why="x")\n    def go(self): ...\n"""
FAKED = "    def go(self):\n        return log('cuda')\n"


@pytest.mark.parametrize(
    "after",
    [
        TWO.replace("return self.log('cuda')", "return self.log('cuda') or self.log('cuda')") + FAKED,
        TWO.replace("'cuda'", "pick()") + FAKED,
    ],
    ids=["twice-in-its-own-function", "in-a-function-that-it-does-not-call"],
)
def test_an_edit_does_not_go_to_another_function_that_only_has_its_text(tmp_path: Path, after: str) -> None:
    assert of(tmp_path, EDIT_GO, after, before=TWO).proposal == ""


def test_what_was_locked_is_not_absent_where_the_old_source_lacks_its_file(tmp_path: Path) -> None:
    """A release archive may lack a folder that the pinned commit has."""
    content = load(tmp_path / "o", write(tmp_path / "o", {"tree/pkg/engine.py": WRAP}))
    (operation,) = content.operations
    whole = source_tree({"pkg/engine.py": text(ENGINE).encode()})
    locked = contracts(content, whole, model_of(content.overlay.pin, whole).classes)
    bare = snapshot_of(source_tree({"other/a.py": b""}), DefinedNames(()))
    found = Classifier(content, locked, bare).verdict(operation, bare, LandedCommits())
    assert (found.kind, found.evidence) == ("left", "there is no pkg/ any more")


def test_a_substitution_in_a_file_that_neither_version_has_is_absent(tmp_path: Path) -> None:
    name = write(tmp_path / "o", {"tree/pkg/new.py": b"x = 1\n"})
    config = tmp_path / "o" / name / "pyproject.toml"
    config.write_text(config.read_text() + SETTINGS)
    base = snapshot_of(source_tree({"pkg/b.yaml": b""}), DefinedNames(()), "pkg@1")
    now = snapshot_of(source_tree({"pkg/b.yaml": b""}), DefinedNames(()), "pkg@2")
    ((_, found),) = SubstitutionVerdicts(base).verdicts(load(tmp_path / "o", name).edits, now)
    assert (found.kind, found.proposal, found.evidence) == ("absent", "drop", "neither pkg@1 nor pkg@2 has pkg/a.yaml")


def test_a_file_under_another_name_is_for_a_person(tmp_path: Path) -> None:
    found = substituted(tmp_path, "pkg/a.yaml", SAYS_FALSE, ROLES, ROLES, there="pkg/d.yaml")
    assert (found.kind, found.proposal) == ("retired", ""), found
    assert "pkg/d.yaml" in found.unknown


def test_a_function_that_is_async_now_is_not_kept(tmp_path: Path) -> None:
    found = of(tmp_path, WRAP_SPREAD, SPREAD.replace("def spread", "async def spread"), before=SPREAD)
    assert (found.kind, found.proposal) == ("signature changed", ""), found
