"""Fixes of a command line: the line as it was typed, with what was wrong made right."""

from __future__ import annotations

import pytest

from npu_overlays.commands.invocation import corrected
from npu_overlays.errors import Problem


@pytest.mark.parametrize(
    ("typed", "options", "command"),
    [
        (("init", "attrs"), {"--suffix": "acme"}, "npu-overlays init attrs --suffix acme"),
        (("init", "attrs", "--suffix", "A b"), {"--suffix": "acme"}, "npu-overlays init attrs --suffix acme"),
        (("init", "--suffix=A b", "attrs"), {"--suffix": "acme"}, "npu-overlays init attrs --suffix acme"),
        (("refresh", "x", "a b"), {"--why": "Two words."}, "npu-overlays refresh x 'a b' --why 'Two words.'"),
        (("refresh", "x", "--as-patch", "y"), {"--as-patch": ""}, "npu-overlays refresh x y --as-patch"),
        (("init", "x", "--package", "a"), {"--package": "b"}, "npu-overlays init x --package a --package b"),
        (("build", "libb"), {"libb": "lib@1"}, "npu-overlays build lib@1"),
        (("check", "--stack=libb"), {"libb": "lib-1"}, "npu-overlays check --stack=lib-1"),
        (("checkout", "/a/b", "/a/b"), {"/a/b": "/a/b-2"}, "npu-overlays checkout /a/b /a/b-2"),
        (("checkout", "x", "/a/./b/"), {"/a/b": "/a/b-2"}, "npu-overlays checkout x /a/b-2"),
        (("bisect", "x", "--", "make", "x"), {"x": "y"}, "npu-overlays bisect y -- make x"),
        (("bisect", "x", "--", "make"), {"--overlays": "o"}, "npu-overlays bisect x --overlays o -- make"),
        (
            ("init", "x", "--repository", "https://me:secret@example.com/x"),
            {"--suffix": "acme"},
            "npu-overlays init x --repository https://example.com/x --suffix acme",
        ),
    ],
)
def test_a_fix_ends_in_the_command_line_that_is_right(
    typed: tuple[str, ...], options: dict[str, str], command: str
) -> None:
    problem = Problem(where="w", what="wrong", fix="mend it", options=tuple(options.items()))
    assert [one.fix for one in corrected([problem], typed)] == [f"mend it:\n        {command}"]


def test_of_several_mistakes_each_is_told_with_all_corrected() -> None:
    problems = [
        Problem(where="--why", what="missing", fix="say why", options=(("--why", "x"),)),
        Problem(where="--suffix", what="missing", fix="choose one", options=(("--suffix", "acme"),)),
        Problem(where="a.py:3", what="wrong", fix="mend it"),
    ]
    command = "\n        npu-overlays init a --why x --suffix acme"
    fixes = [f"say why:{command}", f"choose one:{command}", "mend it"]
    assert [one.fix for one in corrected(problems, ["init", "a"])] == fixes


def test_what_is_nowhere_on_the_command_line_leaves_a_fix_as_it_is() -> None:
    problem = Problem(where="w", what="wrong", fix="mend it", options=(("no", "one"),))
    assert corrected([problem], ["build"]) == [problem]
