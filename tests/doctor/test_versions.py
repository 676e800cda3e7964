"""Versions, ranges and conditions: as `packaging` understands them, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from npu_doctor import versions
from npu_doctor.checks import requirements


def applies(text: str) -> bool:
    """Return whether a text is a requirement that applies to one machine."""
    parsed = requirements.parse(text)
    return parsed is not None and requirements.applies(parsed, python="3.10.13", machine="aarch64")


NUMBERS = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
SUFFIXES = st.sampled_from(["", "rc1", "a2", "b3", ".post1", ".dev4", "rc1.dev2", ".post2.dev1"])
VERSIONS = st.builds("{}{}".format, NUMBERS, SUFFIXES)
OPERATORS = st.sampled_from(["==", "!=", ">=", "<=", "<", ">"])


@given(VERSIONS, VERSIONS)
def test_versions_sort_as_pip_sorts_them(one: str, other: str) -> None:
    left, right = versions.parse(one), versions.parse(other)
    assert left is not None
    assert right is not None
    assert (left < right) is (Version(one) < Version(other))
    assert versions.same(one, other) is (Version(one) == Version(other))


@given(OPERATORS, VERSIONS, VERSIONS)
def test_ranges_hold_what_pip_lets_them_hold(operator: str, wanted: str, found: str) -> None:
    clause = f"{operator}{wanted}"
    assert versions.allows(clause, found) is SpecifierSet(clause).contains(found, prereleases=True)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_has_an_answer(one: str, other: str) -> None:
    assert versions.allows(one, other) in {True, False, None}
    assert versions.same(one, one)
    parsed = requirements.parse(one)
    assert parsed is None or applies(f"x; {other}") in {True, False}


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("8.0.RC2", "8.0.0"),
        ("8.2.RC1", "8.3.RC1"),
        ("8.3.RC1", "8.3.RC2"),
        ("8.5.0.alpha001", "8.5.0"),
        ("25.3.rc1", "25.3.0"),
        ("25.0.rc1", "25.0.rc1.1"),
        ("2.5.1rc1", "2.5.1"),
        ("2.7.1.dev20250724", "2.7.1"),
        ("2.7.1", "2.7.1.post2"),
        ("3.2.0.dev20250925", "3.2.0rc4"),
        ("7.8.0.5.216", "8.9.9"),
    ],
)
def test_versions_of_cann_driver_and_torch_npu_are_ordered(lower: str, higher: str) -> None:
    assert versions.allows(f">{lower}", higher) or "post" in higher
    assert versions.allows(f"<{lower}", higher) is False
    assert not versions.same(lower, higher)


@pytest.mark.parametrize(
    ("one", "other"), [("25.3.rc1", "25.3.RC1"), ("2.5.1.RC1", "2.5.1rc1"), ("v0.10.0", "0.10"), ("2.7.1+cpu", "2.7.1")]
)
def test_spellings_of_one_version_are_the_same(one: str, other: str) -> None:
    assert versions.same(one, other)


@pytest.mark.parametrize(
    ("clause", "found", "answer"),
    [
        ("==25.3.*", "25.3.rc1", True),
        ("25.3.X", "25.3.0", True),
        ("==3.1.*", "3.10.2", False),
        ("~=2.7.1", "2.7.9", True),
        ("~=2.7.1", "2.8", False),
        ("==2.7.1+cpu", "2.7.1", False),
        ("==2.7.1", "2.7.1+cpu", True),
        ("<2", "2.0.0rc1", False),
        ("<2,>=1", "1.26.4", True),
        ("what?", "1", None),
        (">=1", "not a version", None),
    ],
)
def test_ranges_have_the_known_answers(clause: str, found: str, answer: bool | None) -> None:
    assert versions.allows(clause, found) is answer


@pytest.mark.parametrize(
    "marker",
    [
        'python_version >= "3.9"',
        "python_version < '3.9' and platform_machine == 'aarch64'",
        'platform_machine != "aarch64" or sys_platform == "linux"',
        '(python_version > "3.11" or platform_machine in "aarch64 arm64") and sys_platform == "linux"',
        "platform_machine not in 'x86_64 amd64'",
        'extra == "vllm"',
        'python_full_version <= "3.10.13"',
        'platform_system == "Windows"',
    ],
)
def test_conditions_hold_for_the_machine_that_is_examined(marker: str) -> None:
    environment = {"python_version": "3.10", "python_full_version": "3.10.13", "platform_machine": "aarch64"}
    whole = {**environment, "sys_platform": "linux", "platform_system": "Linux", "extra": ""}
    assert applies(f"x; {marker}") is Marker(marker).evaluate(whole)


CLAUSES = st.sampled_from(
    ['extra == "vllm"', "extra=='a1'", 'extra != "vllm"', 'extra == ""', 'python_version >= "3.9"', "os_name == 'nt'"]
)
CONDITIONS = st.recursive(
    CLAUSES, lambda inner: st.builds("{} {} ({})".format, inner, st.sampled_from(["and", "or"]), inner), max_leaves=4
)


@given(CONDITIONS)
def test_what_is_known_to_be_of_an_extra_does_not_apply(marker: str) -> None:
    assert not (requirements.of_an_extra(f"x; {marker}") and applies(f"x; {marker}"))
    assert requirements.of_an_extra('x>=1; extra == "vllm" and python_version >= "3.9"')


@pytest.mark.parametrize(
    "marker",
    ["(", "python_version", "python_version >", 'unknown == "a"', 'python_version >= "3" )', "or or", "'a' ~= 'b'"],
)
def test_conditions_that_are_none_do_not_hold(marker: str) -> None:
    assert not applies(f"x; {marker}")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("torch==2.7.1", "==2.7.1"),
        ("torch (==2.7.1)", "==2.7.1"),
        ("ray[default]>=2.41.0,<3,!=2.42 ; extra == 'a'", ">=2.41.0,<3,!=2.42"),
        ("sglang[srt,openai] ==0.5.5", "==0.5.5"),
        ("vllm @ git+https://example.invalid/vllm@main ; sys_platform == 'linux'", ""),
        ("numpy", ""),
    ],
)
def test_a_range_is_shown_as_it_is_written(text: str, written: str) -> None:
    assert requirements.parse(text) is not None
    assert requirements.range_of(text) == written
