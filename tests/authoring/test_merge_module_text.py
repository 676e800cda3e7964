"""Merge modules with operations changed, taken out and put in: by whatever names they have their markers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from language.pairs import text
from npu_overlays.authoring.refresh.proposals import new_operation
from npu_overlays.authoring.writer.merge_module_text import OperationChange, rewritten
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Action, ImportedName, Operation, Reason

FILE = "lib@1/tree/lib/core.py"
SHARED = text("""
    from npu_overlays.markers import deleted as without
    from npu_overlays.markers import upstream as theirs, wrapped as around

    @around(targets=["lib/core.py:scale", "lib/more.py:scale"], why="Both.")
    def both(value):
        return theirs(value)
""")
OWN = text("""
    from npu_overlays.markers import added as new, deleted as without, edited as changed

    # Why three.
    @changed(("2", "3"), why="Three.", until="9")
    def scale(value): ...

    LIMIT = new(1, why="One.")

    without("gone", why="Nobody calls it.")
""")


def known(content: str, target: str = "lib/core.py") -> dict[str, Operation]:
    operations = read_operations(FILE, content.encode(), layer="lib@1", target=target)
    return {f"{one.path}:{one.symbol}" if one.shared else one.symbol: one for one in operations}


def written(content: str, *changes: OperationChange, new: tuple[Operation, ...] = ()) -> str:
    added = [OperationChange(known=None, wanted=one) for one in new]
    found = rewritten(FILE, content.encode(), [*changes, *added], ["scale", "other"])
    return "" if found is None else found.decode()


def test_a_target_leaves_a_shared_definition_whose_markers_have_names_of_its_own() -> None:
    first = next(iter(known(SHARED, "").values()))
    result = written(SHARED, OperationChange(known=first, wanted=None, targets=("lib/more.py:scale",)))
    assert list(known(result, "")) == ["lib/more.py:scale"]
    assert [one.upstream_name for one in known(result, "").values()] == ["theirs"]


@pytest.mark.parametrize("name", ["scale", "LIMIT", "gone"])
def test_one_goes_and_the_others_stay_as_they_are(name: str) -> None:
    before = known(OWN)
    after = known(written(OWN, OperationChange(known=before[name], wanted=None)))
    assert after.keys() == before.keys() - {name}
    assert all(
        replace(one, where="", before="") == replace(before[symbol], where="", before="")
        for symbol, one in after.items()
    )


def test_one_is_changed_and_one_comes_by_the_names_the_file_has() -> None:
    before = known(OWN)["scale"]
    wanted = replace(before, edits=(replace(before.edits[0], replace="4"),))
    wholes = (
        replace(new_operation("lib/core.py", "other", "deleted", "attribute"), text=""),
        replace(new_operation("lib/core.py", "last", "added", "function"), text="def last():\n    return 1\n"),
        replace(new_operation("lib/core.py", "first", "replaced", "attribute"), text="2"),
    )
    coming = tuple(replace(one, reason=Reason(why="New.")) for one in wholes)
    result = written(OWN, OperationChange(known=before, wanted=wanted), new=coming)
    assert '# Why three.\n@changed(("2", "4"), why="Three.", until="9")' in result
    assert 'without("other", why="New.")' in result
    assert '@new(why="New.")\ndef last' in result
    assert 'first = replaced(2, why="New.")' in result
    assert known(result).keys() == {"scale", "LIMIT", "gone", "other", "last", "first"}


COMMENTED = """\
from npu_overlays.markers import edited, replaced

SIZE = replaced(
    # In bytes.
    4,  # four
    why="Four.",
)


@edited(
    # Why this one.
    ("1", "2"),  # first
    ("n + 3", "n + 4"),
    why="Two.",  # as measured
    # What is accepted.
    accept=["print: it is meant to"],
)
def scale(value): ...


@replaced(
    why="Whole.",  # all of it
)
# Above the function.
def last():
    return 1
"""


def test_what_is_not_otherwise_stays_as_it_is_written() -> None:
    before = known(COMMENTED)
    edits = before["scale"].edits
    changed = (
        replace(before["SIZE"], text="8"),
        replace(before["scale"], edits=(edits[0], replace(edits[1], replace="n + 5"))),
        replace(before["last"], text=before["last"].text.replace("1", "2")),
    )
    result = written(COMMENTED, *(OperationChange(known=before[one.symbol], wanted=one) for one in changed))
    expected = COMMENTED
    for old, new in (("    4,", "    8,"), ("n + 4", "n + 5"), ("return 1", "return 2")):
        expected = expected.replace(old, new)
    assert result == expected


@pytest.mark.parametrize("symbol", ["SIZE", "scale", "last"])
def test_what_becomes_another_operation_is_written_anew(symbol: str) -> None:
    before = known(COMMENTED)[symbol]
    action: Action = "added" if before.action == "replaced" else "replaced"
    wanted = replace(before, action=action, edits=(), text=before.text or "def scale(value):\n    return 1\n")
    after = known(written(COMMENTED, OperationChange(known=before, wanted=replace(wanted, kind=before.kind))))[symbol]
    assert (after.action, after.text, after.reason) == (action, wanted.text, before.reason)


@pytest.mark.parametrize(
    ("symbol", "edits", "expected"),
    [
        ("SIZE", (), 'SIZE = added(\n    # In bytes.\n    # four\n    4,\n    why="Four.",\n)'),
        ("scale", (), '# Why this one.\n# first\n# last\n@replaced(\n    # as measured\n    why="Two.",\n    # What'),
        ("scale", (0,), '@edited(\n    # Why this one.\n    # first\n    ("1", "2"),\n    # as measured\n    why='),
        ("scale", (1,), '# Why this one.\n# first\n@edited(\n    ("n + 3", "n + 4"),\n    # as measured\n    why='),
        ("last", (), '@added(\n    # all of it\n    why="Whole.",\n)\n'),
    ],
)
def test_comments_of_what_is_written_anew_stay_with_the_argument_or_stand_above(
    symbol: str, edits: tuple[int, ...], expected: str
) -> None:
    content = COMMENTED.replace("def scale(value): ...", "def scale(value): ...  # last")
    before = known(content)[symbol]
    wanted = replace(before, edits=tuple(before.edits[number] for number in edits))
    if not edits:
        action: Action = "added" if before.action == "replaced" else "replaced"
        wanted = replace(wanted, action=action, text=before.text or "def scale(value):\n    return 1\n")
    after = written(content, OperationChange(known=before, wanted=wanted))
    assert expected in after
    assert sorted(re.findall("#.*", after)) == sorted(re.findall("#.*", content))


def test_one_that_comes_stands_above_the_comment_of_the_next_and_goes_without_it() -> None:
    content = OWN.replace("LIMIT", "# Of limits.\nother")
    new = replace(new_operation("lib/core.py", "earlier", "replaced", "attribute"), text="2", reason=Reason(why="New."))
    coming = rewritten(FILE, content.encode(), [OperationChange(known=None, wanted=new)], ["scale", "earlier", "other"])
    assert coming is not None
    assert 'earlier = replaced(2, why="New.")\n\n\n# Of limits.\nother = new(' in coming.decode()
    again = written(coming.decode(), OperationChange(known=known(coming.decode())["earlier"], wanted=None))
    assert "# Of limits.\nother = new(" in again


IMPORTING = """\
from npu_overlays.markers import replaced
from lib.a import mx  # the one of a
from lib.c import less, more

LIMIT = replaced(mx(1), why="One.")
OTHER = replaced(less(more(2)), why="Two.")
"""


def test_an_import_takes_the_place_of_another_that_binds_its_name() -> None:
    before = known(IMPORTING)
    others = (
        replace(before["LIMIT"], imports=(ImportedName(name="mx", statement="from lib.b import mx"),)),
        replace(before["OTHER"], imports=(ImportedName(name="more", statement="from lib.d import more"),)),
    )
    changes = [OperationChange(known=before[one.symbol], wanted=one) for one in others]
    result = written(IMPORTING, *changes)
    assert "from lib.b import mx  # the one of a\n" in result
    assert "from lib.c import less\n" in result
    assert "from lib.d import more\n" in result
    assert "lib.a" not in result
    assert [one.text for one in known(result).values()] == ["mx(1)", "less(more(2))"]


@pytest.mark.parametrize("action", ["added", "replaced"])
def test_a_setter_that_comes_stands_on_what_makes_its_file_one_that_can_be_imported(action: Action) -> None:
    setter = "@size.setter\ndef size(self, new):\n    self._size = new\n"
    new = replace(new_operation("lib/core.py", "A.size[@size.setter]", action, "function"), text=setter)
    result = written(OWN, new=(replace(new, reason=Reason(why="w")),))
    compile(result, FILE, "exec")
    assert known(result)["A.size[@size.setter]"].text == setter
    assert f'class A:\n    size = property()\n\n    @{action}(why="w")\n    @size.setter\n' in result.replace(
        "new(", "added("
    )


def test_targets_that_stay_are_written_with_what_they_mean() -> None:
    targets = ('lib/a.py:f[if sys.platform == "win32"]', "lib/b.py:f")
    content = SHARED.replace('"lib/core.py:scale"', repr(targets[0])).replace("lib/more.py:scale", targets[1])
    first = known(content, "")[targets[1]]
    result = written(content, OperationChange(known=first, wanted=None, targets=targets[:1]))
    assert tuple(known(result, "")) == targets[:1]


def test_what_an_accessor_stands_on_goes_by_its_new_name() -> None:
    content = "from npu_overlays.markers import upstream, wrapped\nclass A:\n    size = property()\n{}"
    setter = "    @wrapped(why='w')\n    @size.setter\n    def size(self, new): upstream(self, new)\n"
    (one,) = known(content.format(setter)).values()
    wanted = replace(one, symbol="A.width[@width.setter]", text=one.text.replace("size", "width"))
    result = written(content.format(setter), OperationChange(known=one, wanted=wanted))
    assert result == content.format(setter.replace("'w'", '"w"')).replace("size", "width").replace('"w"', "'w'")
