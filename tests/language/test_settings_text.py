"""YAML by its indentation: the keys under which lines stand, and keys that come twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.errors import MergeError
from npu_overlays.merge.settings_text import keyed_lines, repeated_keys

from .overlays import apply_files, mistakes
from .pairs import text

YAML = """
    # a comment: no key
    a:
      b: 1
      "c d":
      - x: 1
        y:
          - 2
      -  - z: |
            no: key
            no: key
         - plain
      'e': {f: 1}
    http://h: v  # and: more
    ---
    a: {g: 1}
"""


def test_every_line_stands_under_its_keys() -> None:
    found = [(".".join(line.place), line.keyed) for line in keyed_lines(text(YAML))]
    assert found == [
        ("a", True),
        ("a.b", True),
        ("a.c d", True),
        ("a.c d.[1].x", True),
        ("a.c d.[1].y", True),
        ("a.c d.[1].y.[1]", False),
        ("a.c d.[2].[1].z", True),
        ("a.c d.[2].[1].z", False),
        ("a.c d.[2].[1].z", False),
        ("a.c d.[2].[2]", False),
        ("a.e", True),
        ("http://h", True),
        ("---13.a", True),
    ]


@pytest.mark.parametrize(
    ("before", "after", "repeated"),
    [
        ("a:\n  b: 1\n", "a:\n  b: 1\n  c: 1\n", []),
        ("a:\n  b: 1\n", "a:\n  b: 1\n  b: 2\n", ["a.b"]),
        ("a:\n  b: 1\nc: 1\n", "a:\n  b: 1\nc: 1\nb: 1\na: 2\n", ["a"]),
        ("a: 1\na: 2\n", "a: 1\na: 2\nb: 1\n", []),
        ("- a: 1\n- a: 2\n", "- a: 1\n  b: 1\n- a: 2\n  b: 1\n", []),
        ("- a: 1\n", "- a: 1\n  'a': 1\n", ["[1].a"]),
        ("", "a: 1\n---\na: 1\na: 2\n", ["---1.a"]),
        ("", "a: 1\n--- # two\na: 1\n--- {b: 1}\na: 1\n", []),
        ("t: |\n  a: 1\n", "t: |\n  a: 1\n  a: 1\n", []),
        ("a: 1\n---\na: 1\n", "a: 1\nb\na: 1\n", ["a"]),
        ("a: 1\nt: |\n  b\n  a: 1\n  c\n", "a: 1\nt: |\nb\na: 1\n", ["a"]),
    ],
)
def test_a_key_that_comes_twice_is_found(before: str, after: str, repeated: list[str]) -> None:
    assert repeated_keys(before, after) == repeated


def test_a_substitution_that_gives_a_key_twice_is_refused(tmp_path: Path) -> None:
    config = '[[tool.overlay.edit]]\npaths = ["pkg/a.yaml"]\nfind = "b: 1"\nreplace = "b: 1\\n  c: 2"\nwhy = "w"\n'
    apply_files(tmp_path, {"pkg/a.yaml": b"a:\n  b: 1\n"}, {}, config=config)
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, {"pkg/a.yaml": b"a:\n  b: 1\n  c: 1\n"}, {}, config=config)
    (mistake,) = mistakes(caught.value)
    assert mistake.endswith(
        "pkg/a.yaml would have `a.c` twice; delete what adds it here: upstream has it now, or another"
        " substitution adds it"
    )
