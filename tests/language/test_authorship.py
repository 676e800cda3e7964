"""Who wrote which bytes of a patched file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_overlays.merge.authorship import Authorship, by_lines, spliced, written
from npu_overlays.model.encodings import as_utf8
from npu_overlays.model.splices import Splice, splice

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"\xc3\xa9\n"]), max_size=8).map(b"".join)


def holds(authorship: Authorship, before: bytes, after: bytes) -> None:
    """Check that every byte has one author, and that what is upstream's is what stood there."""
    ends = [stretch.end for stretch in authorship.stretches]
    assert [stretch.start for stretch in authorship.stretches] == [0, *ends][: len(ends)]
    assert (ends or [0])[-1] == len(as_utf8(after))
    for offset, byte in enumerate(as_utf8(after)):
        origin = authorship.origin(offset)
        assert origin is None or as_utf8(before)[origin] == byte


@st.composite
def changes(draw: st.DrawFn, content: bytes) -> list[Splice]:
    """Return splices of a content that do not overlap."""
    cuts = sorted(draw(st.lists(st.integers(0, len(content)), max_size=6)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    texts = st.sampled_from(["", "x", "y\nz"])
    return [Splice(start=a, end=b, text=draw(texts), where="o") for a, b in pairs]


@given(data=st.data(), content=LINES, newline=st.sampled_from(["\n", "\r\n"]))
def test_splices(data: st.DataObject, content: bytes, newline: str) -> None:
    those = data.draw(changes(content))
    holds(spliced(content, those, newline=newline), content, splice(content, those, newline=newline))


@given(before=LINES, after=LINES, mark=st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_patches(before: bytes, after: bytes, mark: bytes) -> None:
    holds(by_lines(mark + before, mark + after, "p"), mark + before, mark + after)


@given(data=st.data(), before=LINES, between=LINES)
def test_a_merge_behind_a_patch(data: st.DataObject, before: bytes, between: bytes) -> None:
    those = data.draw(changes(between))
    after = splice(between, those, newline="\n")
    holds(spliced(between, those, newline="\n").behind(by_lines(before, between, "p")), before, after)


def test_a_file_of_ones_own() -> None:
    assert written(b"\xef\xbb\xbfab", "o").origin(1) is None
    assert written(b"ab", "o").at(1).where == "o"
