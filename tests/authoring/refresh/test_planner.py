"""Which way a file that was edited goes: into operations, a substitution, a patch, or nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.overlays import load, write
from language.pairs import source_tree
from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.refresh.plan import RefreshPlan
from npu_overlays.authoring.refresh.planner import Planner
from npu_overlays.errors import MergeError
from npu_overlays.merge.apply import apply_part
from npu_overlays.pipeline.preparation import AppliedInput

LATIN = "# -*- coding: latin-1 -*-\nNAME = 'é'\n"


def plan(root: Path, upstream: bytes, wanted: bytes, overlay: str = "", *, as_patch: bool = False) -> RefreshPlan:
    content = load(root, write(root, {"tree/pkg/m.py": overlay} if overlay else {}))
    subject = AppliedInput(content=content, tree=source_tree({"pkg/m.py": upstream}), absent=frozenset(), version="1.0")
    marked = apply_part(content, subject.tree, absent=frozenset())
    return Planner(subject, marked, as_patch=as_patch).plan((EditedFile(path="pkg/m.py", content=wanted),))


OURS = 'OURS = added([], why="Ours.")\nTHEIRS = added(1, why="Theirs.")\n'
APPENDED = b"NAME = 1\n\nOURS = []\n\nOURS.append(NAME)\n\nTHEIRS = 1\n"


def test_a_patch_takes_the_place_of_operations_only_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(MergeError, match=r"would overlap `OURS` \(\S*tree/pkg/m.py:\d+: Ours\.\)") as refused:
        plan(tmp_path / "one", b"NAME = 1\n", APPENDED, OURS)
    assert "THEIRS" not in str(refused.value)
    assert refused.value.problems[0].options == (("--as-patch", ""),)
    found = plan(tmp_path / "two", b"NAME = 1\n", APPENDED, OURS, as_patch=True)
    assert [(one.symbol, one.wanted) for one in found.operations] == [("OURS", None)]
    (patch,) = found.patches
    assert [one.reason.why for one in patch.instead] == ["Ours."]


MEMBER = 'class C:\n    @added(why="Ours.")\n    def ours(self): ...\n\n\nNAME = replaced(2, why="Two.")\n'
CLASS = "class {}:\n    def theirs(self): ...\n\n    def ours(self): ...\n"


def test_a_class_that_gets_another_name_does_not_take_the_operations_on_its_members_along_unasked(
    tmp_path: Path,
) -> None:
    upstream = b"NAME = 1\n\n\nclass C:\n    def theirs(self): ...\n"
    wanted = f"NAME = 2\n\n\n{CLASS.format('D')}".encode()
    with pytest.raises(MergeError, match=r"would overlap `C\.ours` \(\S*tree/pkg/m.py:\d+: Ours\.\)") as refused:
        plan(tmp_path / "one", upstream, wanted, MEMBER)
    assert "Two." not in str(refused.value)
    assert refused.value.problems[0].options == (("--as-patch", ""),)
    found = plan(tmp_path / "two", upstream, wanted, MEMBER, as_patch=True)
    assert [(one.symbol, one.wanted) for one in found.operations] == [("C.ours", None)]
    (patch,) = found.patches
    assert [one.reason.why for one in patch.instead] == ["Ours."]


@pytest.mark.parametrize(
    ("left", "moved"),
    [(None, "class C:\n    def theirs(self): ...\n\n    def ours(self): ...\n"), (b"NAME = 2\n", CLASS.format("C"))],
)
def test_what_is_moved_to_another_file_does_not_take_the_operations_on_it_along(
    tmp_path: Path, left: bytes | None, moved: str
) -> None:
    """The file with all of it, and the class alone; what only goes takes them along."""
    upstream = {"pkg/m.py": b"NAME = 1\n\n\nclass C:\n    def theirs(self): ...\n", "pkg/n.py": b"ONE = 1\n"}
    content = load(tmp_path, write(tmp_path, {"tree/pkg/m.py": MEMBER}))
    subject = AppliedInput(content=content, tree=source_tree(upstream), absent=frozenset(), version="1.0")
    planner = Planner(subject, apply_part(content, subject.tree, absent=frozenset()), as_patch=True)
    goes = EditedFile(path="pkg/m.py", content=left)
    for path in ("pkg/n.py", "pkg/new.py"):
        with pytest.raises(
            MergeError, match=r"m.py: its text was moved to \S*, .*: `C\.ours` \(\S*: Ours\.\)\n.* first"
        ) as refused:
            planner.plan((goes, EditedFile(path=path, content=f"ONE = 1\n\n\n{moved}".encode())))
        assert f"its text was moved to {path}, and" in str(refused.value)
        assert "Two." not in str(refused.value)
    found = planner.plan((goes, EditedFile(path="pkg/n.py", content=b"ONE = 2\n")))
    assert ("C.ours", None) in [(one.symbol, one.wanted) for one in found.operations]


def test_renamed_and_reformatted_class_keeps_the_operations_on_it(tmp_path: Path) -> None:
    """None of its lines is as it was, and most of its code is."""
    upstream = (
        b"NAME = 1\n\n\nclass C:\n    def theirs(self, values): return [value * 2 for value in values if value]\n"
    )
    wanted = (
        b"NAME = 2\n\n\nclass D:\n    def theirs(\n        self,\n        values,\n    ):\n        return [\n"
        b"            value * 2\n            for value in values\n            if value\n        ]\n"
        b"    def ours(self): return None\n"
    )
    with pytest.raises(MergeError, match=r"would overlap `C\.ours` \(\S*tree/pkg/m.py:\d+: Ours\.\)"):
        plan(tmp_path, upstream, wanted, MEMBER)


def test_a_module_in_another_encoding_is_operated_on_or_patched_in_it(tmp_path: Path) -> None:
    wanted = LATIN.replace("é", "è").encode("latin-1")
    found = plan(tmp_path / "operation", LATIN.encode("latin-1"), wanted)
    assert [(one.symbol, one.wanted and one.wanted.edits[0].replace) for one in found.operations] == [
        ("NAME", "NAME = 'è'")
    ]
    assert not found.patches
    wanted = f"{LATIN}print('ê')\n".encode("latin-1")
    found = plan(tmp_path / "patch", LATIN.encode("latin-1"), wanted)
    assert [(one.path, one.after) for one in found.patches] == [("pkg/m.py", wanted)]
    assert not found.operations


def test_a_module_that_is_not_in_the_encoding_it_declares_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MergeError, match="not UTF-8"):
        plan(tmp_path, b"NAME = 1\n", "NAME = 'é'\n".encode("latin-1"))
