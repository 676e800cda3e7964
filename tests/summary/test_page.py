"""The page of what was changed: what it says, and that nothing of an overlay is ever more than text in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_summary import page
from npu_summary.changes import Unreadable
from npu_summary.page import diff
from npu_summary.page.markup import prose

from .pages import DIFF, HOSTILE, rendered, sample
from .samples import change, distribution, file, typed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import SummarySite

ANY_LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=()))


class Seen(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "col", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen(rendered().decode())


def test_it_says_what_was_changed_against_what_and_why(seen: Seen) -> None:
    for said in (
        "verl-npu 1.0+npu.1.g796871d",
        "796871d7d092f7cbc6a64e7f4a3796f7a2217f5e",
        "v1.0",
        "from the commit",
        "verl@796871d, revision 1",
        "transformers-npu==1.0",
        "8 in 4 files (2 added, 1 updated, 1 deleted)",
        "A.run",
        "needed by f",
        "seed overrides <b>`B.f`",
        "operators of its own",
        "can go when: #1",
        "the files of 1 operation",
        "recipe/x.py:f",
        "when vLLM is started: vllm.x:C.f, ",
        "An empty file.",
        "no end of line",
    ):
        assert said in seen.text, said
    # In the overview, in the filter, and once for both changes it was given for.
    assert seen.text.count("operators of its own") == 3


def test_what_others_wrote_is_text_and_nothing_else(seen: Seen) -> None:
    assert seen.open == []
    assert [tag for tag, _ in seen.tags if tag in ("script", "img")] == ["script"]
    assert seen.text.count(HOSTILE) == 8
    assert "昇腾上更快" in seen.text
    assert "\\x1b[2J\\u202e" in seen.text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", seen.text)
    attributes = chain.from_iterable(given for _, given in seen.tags)
    assert not [name for name in attributes if name.startswith("on")]


def test_it_loads_nothing_and_tells_the_browser_so(seen: Seen) -> None:
    assert not [given for _, given in seen.tags if "src" in given or given.get("rel") == "stylesheet"]
    assert not re.search(r"url\(|@import", rendered().decode().partition("</style>")[0])
    addresses = [given["href"] or "" for tag, given in seen.tags if tag == "a"]
    assert addresses
    assert [one for one in addresses if not one.startswith("#")] == []
    policy = next(given["content"] or "" for _, given in seen.tags if given.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_every_link_within_it_leads_somewhere_and_every_name_is_one(seen: Seen) -> None:
    names = [given["id"] for _, given in seen.tags if "id" in given]
    assert len(names) == len(set(names))
    links = {(given["href"] or "")[1:] for tag, given in seen.tags if tag == "a"}
    assert links - set(names) == set()
    assert {"1-1", "1-4", "1-1-2", "1-1-3", "1-2-3"} <= links


def test_lines_stand_side_by_side_with_their_numbers() -> None:
    [hunk] = page.parse(DIFF, typed(sample())[0])["verl/x.py"]
    numbers = [(row[0], row[2]) for row in hunk]
    assert numbers == [(1, 1), (2, 2), (None, 3), (3, 4), (4, 5)]
    assert hunk[0][1] == hunk[0][3] == "import os"
    assert diff.sizes([hunk]) == (2, 3)
    [new] = page.parse(DIFF, typed(sample())[0])["verl/new file.py"]
    assert [row[3] for row in new] == ["import re", "diff --git a/not b/one", "def g(): ...\r"]


def test_what_differs_within_a_line_is_marked_where_the_rest_is_the_same() -> None:
    alike = diff.table([[(1, "x = choose(1)", 1, "x = choose(22)")]], {})
    assert "x = choose(<mark>1</mark>)" in alike
    assert "x = choose(<mark>22</mark>)" in alike
    assert "<mark>" not in diff.table([[(1, "x = 1", 1, "import os")]], {})


def test_what_is_no_text_is_not_shown_as_one() -> None:
    shown = diff.table([[(None, "", 1, "a\0b")]], {})
    assert "Not a text" in shown
    assert "<td" not in shown


@given(st.lists(st.tuples(ANY_LINE, ANY_LINE), min_size=1, max_size=4))
def test_any_line_is_shown_and_closes_what_it_opens(lines: list[tuple[str, str]]) -> None:
    shown = diff.table([[(n, old, n, new) for n, (old, new) in enumerate(lines, 1)]], {})
    seen = Seen(shown)
    assert seen.open == []
    assert {tag for tag, _ in seen.tags} <= {
        "table",
        "colgroup",
        "col",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "mark",
        "p",
    }
    shown.encode()


@pytest.mark.parametrize("cut", [b"@@ -1,4", b"+seed", b"diff --git a/verl/gone.py"])
def test_a_diff_that_breaks_off_is_refused(cut: bytes) -> None:
    changes = typed(sample())[0]
    with pytest.raises(Unreadable, match=r"breaks off within the hunk|says nothing of verl/"):
        page.parse(DIFF[: DIFF.index(cut)] + b"\n", changes)


def test_the_page_depends_on_its_input_alone(tmp_path: Path) -> None:
    code = "import sys; from summary.pages import rendered; sys.stdout.buffer.write(rendered())"
    tests = os.pathsep.join(sys.path)
    pages = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": tests, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"},
            cwd=tmp_path,
            capture_output=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Shanghai"))
    }
    assert pages == {rendered()}


@pytest.fixture
def installed(site: SummarySite) -> SummarySite:
    package = site.install(sample())
    (package / "changes.diff").write_bytes(DIFF)
    return site


@pytest.mark.parametrize("umask", [0o077, 0o002])
def test_the_page_may_be_read_by_others_and_changed_by_its_owner(
    installed: SummarySite, tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        assert installed.run("--html", "page.html").returncode == 0
    finally:
        os.umask(before)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o644


def test_an_installation_writes_the_page_of_all_that_is_installed(
    installed: SummarySite, tmp_path: Path, python: str
) -> None:
    done = installed.run("--html", "page.html", python=python)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "page.html").read_bytes() == rendered()
    other = distribution("transformers", [file("src/a.py", [], [change("added", "method", "f")])])
    (installed.install(other) / "changes.diff").write_bytes(
        b"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert installed.run("--html", "page.html", python=python).returncode == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.index("verl-npu 1.0") < text.index("transformers-npu 1.0")
    assert installed.run("--html", "page.html", "--distribution", "verl").returncode == 0
    assert (tmp_path / "page.html").read_bytes() == rendered()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "site"]


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no diff": (lambda package: (package / "changes.diff").unlink(), "changes.diff: No such file or directory; "),
    "another diff": (
        lambda package: (package / "changes.diff").write_bytes(b""),
        "changes.diff: says nothing of verl/x.py, which was changed; ",
    ),
    "no changes": (lambda package: (package / "changes.json").write_text("{"), "changes.json: not JSON"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_without_all_it_shows_the_page_that_is_there_stays(installed: SummarySite, tmp_path: Path, damage: str) -> None:
    (tmp_path / "page.html").write_text("yesterday's")
    # What is whole makes no page without the other.
    (installed.install(distribution("transformers", [])) / "changes.diff").write_bytes(b"")
    do, message = DAMAGES[damage]
    do(installed.folder / "verl_npu_summary")
    done = installed.run("--html", "page.html")
    assert (done.returncode, done.stdout) == (1, b"")
    assert message in done.stderr.decode()
    assert "pip install --force-reinstall --no-deps verl-npu" in done.stderr.decode()
    assert (tmp_path / "page.html").read_text() == "yesterday's"


def test_what_is_not_installed_leaves_no_page(installed: SummarySite, tmp_path: Path) -> None:
    done = installed.run("--html", "page.html", "--distribution", "verl", "--distribution", "peft")
    assert done.returncode == 1
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["absent/page.html", "site", "/dev/null"])
def test_where_no_file_can_be_the_page_is_refused(installed: SummarySite, tmp_path: Path, name: str) -> None:
    done = installed.run("--html", name)
    assert done.returncode == 1
    assert f"error: {name}: cannot be written: " in done.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert not os.path.isfile("/dev/null")  # noqa: PTH113  # a device


def test_a_link_stays_one_and_its_file_is_the_page(installed: SummarySite, tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    assert installed.run("--html", "link.html").returncode == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "page.html").read_bytes() == rendered()


def test_code_in_a_reason_is_shown_as_code() -> None:
    assert prose("``a < b`` and `c`, ` d") == "<code>a &lt; b</code> and <code>c</code>, ` d"
