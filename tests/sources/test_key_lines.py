"""Lines of TOML keys: every refusal of a setting names the line that gives it, or its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.errors import ConfigError
from npu_overlays.overlay.tables import line_of_key, place_in, toml_of

TEXT = """\
title = "x"  # 1
[tool.overlay]
packages = [
    "a",
    # project = "no"
]
why = '''
[tool.overlay.upstream]
commit = "no"
'''
"quoted" = 1
upstream.commit = "c"
[[tool.overlay.edit]]
paths = ["b"]
[tool.overlay.edit.more]
deep = 1
[[tool.overlay.edit]]  # the second
paths = ["c"]
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("title", 1),
        ("tool.overlay", 2),
        ("tool.overlay.packages", 3),
        ("tool.overlay.project", 2),
        ("tool.overlay.quoted", 11),
        ("tool.overlay.upstream.commit", 12),
        ("tool.overlay.upstream.tag", 12),
        ("tool.overlay.edit[1].paths", 14),
        ("tool.overlay.edit[1].more.deep", 16),
        ("tool.overlay.edit[2]", 17),
        ("tool.overlay.edit[2].find", 17),
        ("tool.overlay.edit[2].paths", 18),
        ("tool.overlay.drop (src/a.py)", 2),
        ("build-system", 1),
    ],
)
def test_line_of_a_key_is_its_own_or_that_of_its_table(key: str, line: int) -> None:
    assert line_of_key(TEXT, key) == line


def test_a_long_word_in_a_value_costs_no_time() -> None:
    # A pattern that tries every way to cut the word into pieces never ends.
    assert line_of_key(f"find = '''\n{'x' * 500}\n'''\n{'y' * 500}\nlast = 1\n", "last") == 5


def test_place_in_a_file_that_cannot_be_read_has_no_line(tmp_path: Path) -> None:
    assert place_in(tmp_path / "x.toml", "a") == f"{tmp_path / 'x.toml'}: a"


@pytest.mark.parametrize(("content", "line"), [(b"a = 1\n[b\n", 2), (b"a = 1\nb = '\xff'\n", 2)])
def test_malformed_toml_is_named_with_its_line(content: bytes, line: int) -> None:
    with pytest.raises(ConfigError) as raised:
        toml_of(content, Path("x.toml"))
    assert raised.value.problems[0].where == f"x.toml:{line}"
