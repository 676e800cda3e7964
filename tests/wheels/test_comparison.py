"""Two wheels are compared down to what only archivers see, and each difference is named for what it is."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest

from npu_overlays.sources.archive_files import ArchiveError
from npu_overlays.wheels.comparison import differences

DATE = (2020, 2, 2, 0, 0, 0)
Members = list[tuple[zipfile.ZipInfo, bytes]]


def members() -> Members:
    said = {"demo/one.py": b"one = 1\n" * 30, "demo/two.bin": bytes(range(256)), "demo/three.py": b"three = 3\n"}
    made = []
    for path, content in said.items():
        info = zipfile.ZipInfo(path, DATE)
        info.external_attr = 0o100644 << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        made.append((info, content))
    return made


def written(chosen: Members, *, level: int | None = None, comment: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = comment
        for info, content in chosen:
            archive.writestr(info, content, compresslevel=level)
    return file.getvalue()


def found(chosen: Members, *, level: int | None = None) -> list[tuple[str, str]]:
    return [(one.path, one.how) for one in differences(written(chosen, level=level), written(members()))]


def test_the_same_bytes_differ_in_nothing() -> None:
    assert found(members()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"date_time": (2021, 3, 4, 5, 6, 8)}, "is dated 2021-03-04 05:06:08, here 2020-02-02 00:00:00"),
        ({"external_attr": 0o100755 << 16}, "has mode 100755, here 100644"),
        ({"create_system": 0}, "has other fields in its header, which another archiver wrote"),
        ({"extra": b"\x99\x99\x00\x00"}, "has other fields in its header, which another archiver wrote"),
        ({"comment": b"mine"}, "has other fields in its header, which another archiver wrote"),
        ({"compress_type": zipfile.ZIP_STORED}, "is stored in another way (deflated or not)"),
    ],
    ids=lambda value: str(*value) if isinstance(value, dict) else "",
)
def test_what_is_no_content_is_named(change: dict[str, object], said: str) -> None:
    chosen = members()
    for name, value in change.items():
        setattr(chosen[0][0], name, value)
    assert found(chosen) == [("demo/one.py", said)]


def test_another_level_is_told_from_another_content() -> None:
    said = found(members(), level=0)
    assert [path for path, _ in said] == ["demo/one.py", "demo/three.py"]  # the other cannot be deflated at all
    assert all(how.startswith("is deflated otherwise, to ") for _, how in said)


@pytest.mark.parametrize(
    ("content", "diff"),
    [
        (b"three = 4\n", ("--- in the wheel", "+++ made here", "@@ -1,2 +1,2 @@", "-three = 4", "+three = 3", " ")),
        (b"three = 3\r\n", ("--- in the wheel", "+++ made here", "@@ -1,2 +1,2 @@", "-three = 3\r", "+three = 3", " ")),
        (b"three = 3", ("--- in the wheel", "+++ made here", "@@ -1 +1,2 @@", " three = 3", "+")),
        (b"three = \0", ()),
        (b"\xff", ()),
    ],
)
def test_texts_are_shown_and_other_bytes_are_not(content: bytes, diff: tuple[str, ...]) -> None:
    chosen = [*members()[:2], (members()[2][0], content)]
    (difference,) = differences(written(chosen), written(members()))
    assert difference.how == f"has another content: {len(content)} bytes, here 10"
    assert difference.diff == diff


def test_a_long_diff_is_cut_and_says_so() -> None:
    chosen = [(members()[0][0], b"two = 2\n" * 30), *members()[1:]]
    (difference,) = differences(written(chosen), written(members()))
    assert (len(difference.diff), difference.diff[-1]) == (21, "… 44 more lines")
    lines = b"".join(b"%d %s\n" % (number, b"x" * 100) for number in range(10_000))
    chosen = [(members()[0][0], lines), *members()[1:]]
    assert differences(written(chosen), written(members()))[0].diff == ()


def test_members_and_their_order_are_compared() -> None:
    one, two, three = members()
    assert found([one, three]) == [("demo/two.bin", "is only in what was made here")]
    more = (zipfile.ZipInfo("demo/more.py", DATE), b"")
    assert found([one, more, two, three]) == [("demo/more.py", "is only in the wheel")]
    how = "its members are in another order: demo/two.bin stands where demo/one.py does here"
    assert found([two, one, three]) == [("", how)]


def test_what_lies_between_the_members_is_compared() -> None:
    whole = written(members())
    for other in (written(members(), comment=b"mine"), b"#!/bin/sh\n" + whole):
        ((path, how),) = [(one.path, one.how) for one in differences(other, whole)]
        assert path == ""
        assert how.startswith("its members are the same, and what lies between them differs from byte ")


def test_what_is_no_wheel_is_refused() -> None:
    with pytest.raises(ArchiveError, match="is not a whole wheel"):
        differences(b"", written(members()))


@pytest.mark.parametrize("change", [lambda whole: whole[:-40], lambda whole: whole.replace(b"PK\1\2", b"PK\1\3")])
def test_a_damaged_one_is_refused(change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ArchiveError, match="is not a whole wheel"):
        differences(change(written(members())), written(members()))
