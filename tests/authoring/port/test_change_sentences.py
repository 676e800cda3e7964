from __future__ import annotations

from npu_overlays.authoring.port.change_sentences import changed_names, changed_parts
from npu_overlays.contracts.changed_reads import ChangedRead
from npu_overlays.contracts.contracts import ContractDifference
from npu_overlays.contracts.reads import Read


def differs(part: str, before: str = "a", after: str = "b") -> ContractDifference:
    return ContractDifference(part=part, before=before, after=after)


def changed(symbol: str, *differences: str, path: str = "pkg/a.py") -> ChangedRead:
    """Return a changed name; one without differences is gone."""
    read = Read(path=path, symbol=symbol)
    now = read if differences else None
    return ChangedRead(before=read, now=now, differences=differences or ("it is gone",), places=())


def test_changed_parts_are_one_sentence() -> None:
    assert changed_parts([]) == ""
    assert changed_parts([differs("body")]) == "upstream changed its body"
    assert changed_parts([differs("signature", "(x)", "(y)"), differs("annotations"), differs("body")]) == (
        "upstream changed its signature (`(x)` → `(y)`), annotations and body"
    )


def test_digests_are_not_shown() -> None:
    new = differs("decorators", "", "@<7e02f8e3>")
    assert changed_parts([new]) == "upstream changed its decorators (`@…` is new)"
    other = differs("decorators", "@deprecated(<7e02f8e3>)", "@deprecated(<1bc4086c>)")
    assert changed_parts([other]) == "upstream changed its decorators (the arguments of `@deprecated(…)`)"


def test_changed_names_are_one_sentence_for_each_file() -> None:
    assert changed_names([changed("f")]) == ["`pkg/a.py:f`, which it reads, is gone"]
    assert changed_names([changed("f", "its value"), changed("g", "its text", "its kind", path="pkg/b.py")]) == [
        "upstream changed `pkg/a.py:f`, which it reads: its value",
        "upstream changed `pkg/b.py:g`, which it reads: its text and its kind",
    ]
    assert changed_names(map(changed, "fgh")) == ["it reads 3 names of `pkg/a.py` that are gone: `f`, `g`, `h`"]


def test_of_several_names_each_change_has_a_line() -> None:
    (said,) = changed_names([changed("f"), changed("v", "its value"), changed("g")])
    assert said.splitlines() == [
        "it reads 3 names of `pkg/a.py` that upstream changed or deleted:",
        "`f` and `g` are gone;",
        "`v`: its value",
    ]
