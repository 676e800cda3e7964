"""`port` between releases that only an index has: no repository is asked, and none is there."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import tomllib
from packaging.tags import sys_tags

from environments.once import once
from support.environment import Done, Environment, copy_environment
from support.marks import rarely
from support.overlays import write_layer
from support.wheels import write_wheel

pytestmark = pytest.mark.slow

CORE = b"def scale(value):\n    return value * 2\n\n\ndef describe(name):\n    return name\n"
OPERATIONS = """\
from npu_overlays.markers import edited, upstream, wrapped


@wrapped(why="Louder.")
def describe(name):
    return upstream(name).upper()


@edited(("value * 2", "value * 3"), why="Three is right here.")
def scale(value): ...
"""


@dataclass(frozen=True)
class Released:
    """An overlay on release 1.0 of a project of two packages, in the folder where commands are run."""

    environment: Environment

    def release(self, version: str, core: bytes, *, more: bool = True, name: str = "demo") -> None:
        files = {f"{name}/__init__.py": b"", f"{name}/core.py": core}
        files |= {"more/__init__.py": b"ONE = 1\n"} if more else {}
        info = {f"demo-{version}.dist-info/licenses/LICENSE": b"Free for all.\n"}
        info |= {f"demo-{version}.dist-info/licenses/NOTICE": b"Thanks.\n"} if more else {}
        write_wheel(self.environment.folder / "index", "demo", version, {**files, **info})

    def port(self, name: str, *arguments: str) -> Done:
        return self.environment.cli("port", name, *arguments)

    def write(self, name: str, path: str, text: str) -> None:
        file = self.environment.folder / name / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def begin(folder: Path) -> None:
    """Write and lock an overlay on release 1.0."""
    made = Released(Environment(folder=folder))
    made.release("1.0", CORE)
    made.environment.ok("init", "demo", "--release", "1.0", "--suffix", "acme")
    made.write("demo@1.0", "demo/core.py", OPERATIONS)
    done = made.environment.ok("lock", "demo@1.0")
    assert "backend" not in done.err  # a wheel says itself what its metadata are


@pytest.fixture
def released(shared: Path, tmp_path: Path) -> Released:
    return Released(copy_environment(once(shared, "ported-release", begin), tmp_path))


def test_what_changed_is_shown_side_by_side_also_where_nothing_is_left_to_decide(released: Released) -> None:
    released.release("1.1", CORE.replace(b"return name", b"return str(name)"))
    done = released.port("demo@1.0", "--to", "1.1")
    assert done.code == 0, done.err
    assert "upstream changed its body" in done.out
    assert "finished, and locked" in done.out
    assert "demo@1.1: demo@1.1:" not in done.err  # what it is about is said once
    lock = (released.environment.folder / "demo@1.1/overlay.lock").read_bytes()
    shown = released.port("demo@1.1", "--show", "describe")
    assert shown.code == 0, shown.err
    assert "it is compared with demo@1.0, the next older pin" in shown.err
    assert shown.out.splitlines()[:2] == ["demo@1.0 | demo@1.1", "demo/core.py:describe: body changed"]
    assert "return name" in shown.out
    assert "return str(name)" in shown.out
    assert (released.environment.folder / "demo@1.1/overlay.lock").read_bytes() == lock
    first = released.port("demo@1.0", "--show", "describe")
    assert (first.code, "there is no older pin of demo beside it" in first.err) == (3, True)


def test_the_page_has_each_cause_and_both_definitions_as_text(released: Released) -> None:
    hostile = b'"</table><script>alert(1)</script>" + str(name)'
    released.release("1.1", CORE.replace(b"return name", b"return " + hostile))
    page = released.environment.folder / "port.html"
    done = released.port("demo@1.0", "--to", "1.1", "--html", str(page))
    assert done.code == 0, done.err
    text = page.read_text()
    assert "<title>Port of demo@1.0 to demo@1.1</title>" in text
    assert "It is finished, and locked." in text
    assert "<code>demo/core.py:describe</code>" in text
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text.replace("&nbsp;", " ")
    assert text.count("<table") == text.count("</table>") == 1
    refused = released.port("demo@1.1", "--show", "describe", "--html", str(page))
    assert (refused.code, "there is none with --abort or --show" in refused.err) == (2, True)


def test_what_is_left_says_where_it_stands_and_showing_it_writes_nothing(released: Released) -> None:
    released.release("1.1", CORE.replace(b"value * 2", b"value + value"))
    done = released.port("demo@1.0", "--to", "1.1")
    assert done.code == 5
    assert "at demo@1.1/tree/demo/core.py:10: edit or delete it" in done.out
    text = OPERATIONS.replace('"value * 2"', '"value + value"')
    released.write("demo@1.1", "demo/core.py", text)
    assert released.port("demo@1.1", "--show", "scale").code == 0
    assert not (released.environment.folder / "demo@1.1/overlay.lock").exists()
    assert released.port("demo@1.1", "--continue").code == 0
    released.environment.ok("check", "demo@1.1")


def test_a_form_of_newer_releases_only_whose_model_the_new_pin_lacks_is_dropped(released: Released) -> None:
    form = b"""\
from npu_overlays.markers import like, upstream, wrapped


@wrapped(targets=like("demo/core.py:whisper", within="demo/*.py", since="1.1"), why="Louder.")
def whisper(name):
    return upstream(name).upper()
"""
    write_layer(released.environment.folder / "demo", project="demo", files={"shared/forms.py": form})
    released.environment.ok("lock", "demo@1.0")
    released.release("1.1", CORE)
    done = released.port("demo@1.0", "--to", "1.1", "--accept", "all")
    assert done.code == 0, done.err
    dropped = (released.environment.folder / "demo@1.1/pyproject.toml").read_text()
    assert 'name = "demo/core.py:whisper"' in dropped
    assert "On demo@1.1: absent; neither demo@1.0 nor demo@1.1 has demo/core.py:whisper." in dropped
    released.environment.ok("check", "demo@1.1")


def test_what_was_written_for_the_new_signature_is_done(released: Released) -> None:
    released.release("1.1", CORE.replace(b"describe(name)", b"describe(name, loud=False)"))
    done = released.port("demo@1.0", "--to", "1.1")
    assert done.code == 5
    assert "\nFor you to decide:\n\n`loud` is new\n  --drop 'loud-is-new-to-decide=WHY'\n" in done.out
    text = OPERATIONS.replace("describe(name)", "describe(name, loud=False)").replace(
        "upstream(name)", "upstream(name, loud)"
    )
    released.write("demo@1.1", "demo/core.py", text)
    done = released.port("demo@1.1", "--continue")
    assert done.code == 0, done.out
    assert "2 of 2 parts fit" in done.out
    released.environment.ok("check", "demo@1.1")


def test_what_the_pin_states_itself_follows_in_its_place(released: Released) -> None:
    released.release("1.1", CORE.replace(b"(name)", b"(who)").replace(b"return name", b"return who"))
    done = released.port("demo@1.0", "--to", "1.1", "--accept", "all")
    assert done.code == 0, done.out + done.err
    text = (released.environment.folder / "demo@1.1/tree/demo/core.py").read_text()
    assert text == OPERATIONS.replace("(name)", "(who)")
    released.environment.ok("check", "demo@1.1")


def test_what_a_release_does_not_hold_any_more_is_not_shipped_and_that_is_said(released: Released) -> None:
    released.write(
        "demo@1.0", "more/__init__.py", 'from npu_overlays.markers import replaced\n\nONE = replaced(2, why="Two.")\n'
    )
    released.environment.ok("lock", "demo@1.0")
    released.release("1.1", CORE, more=False)
    done = released.port("demo@1.0", "--to", "1.1")
    assert done.code == 5
    told = " ".join(done.err.split())
    assert "demo-1.1-py3-none-any.whl holds no `more`, so packages of the new pin leaves it out" in told
    assert "holds no `NOTICE`, so license-files of the new pin leaves it out" in told
    # A path alone may be longer.
    said = [line for line in (done.err + done.out).splitlines() if " " in line.strip()]
    assert max(map(len, said)) <= 100
    assert "demo-1.1-py3-none-any.whl has no more/" in done.out
    folder = released.environment.folder / "demo@1.1"
    settings = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["overlay"]
    assert (settings["packages"], settings["license-files"]) == (["demo"], ["LICENSE"])
    (folder / "tree/more/__init__.py").unlink()
    assert released.port("demo@1.1", "--continue").code == 0
    released.environment.ok("check", "demo@1.1")


@pytest.mark.thorough
def test_the_kind_of_wheel_that_was_pinned_is_pinned_again(tmp_path: Path) -> None:
    environment = Environment(folder=tmp_path)
    pure, here, elsewhere = "py3-none-any", str(next(sys_tags())), "cp399-cp399-win_arm64"
    for version, tags in (
        ("1.0", (pure, here, elsewhere)),
        ("1.1", (pure, here, elsewhere)),
        ("1.2", (pure, "py3-none-" + here.split("-")[2])),
    ):
        for tag in tags:
            write_wheel(tmp_path / "index", "demo", version, {"demo/core.py": CORE}, tag=tag)
    for number, tag in enumerate((pure, here, elsewhere)):
        environment.ok("init", "demo", f"o{number}", "--suffix", "acme", "--archive", f"demo-1.0-{tag}.whl")
        environment.ok("lock", f"o{number}")
        for version, expected in (("1.1", tag), ("1.2", pure if tag == pure else "py3-none-" + here.split("-")[2])):
            assert environment.cli("port", f"o{number}", "--to", version).code == 0
            (folder,) = tmp_path.glob(f"demo@{version}")
            settings = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["overlay"]
            assert settings["upstream"]["archive"][0]["file"] == f"demo-{version}-{expected}.whl"
            shutil.rmtree(folder)


def test_a_release_that_holds_nothing_of_it_is_refused(released: Released) -> None:
    released.release("2.0", CORE, more=False, name="other")
    done = released.port("demo@1.0", "--to", "2.0")
    assert done.code == 4
    assert "demo-2.0-py3-none-any.whl: holds none of the shipped packages: demo, more" in done.err
    assert not (released.environment.folder / "demo@2.0").exists()


@pytest.mark.parametrize("name", ["main", "91393fe", *rarely("latest")])
def test_what_is_no_release_is_refused_where_there_is_no_repository(released: Released, name: str) -> None:
    done = released.port("demo@1.0", "--to", name)
    assert done.code == 4
    assert (
        f"--to {name}: is no version, and demo pins no repository that could have it as a commit, tag or branch"
        in done.err
    )
    assert "--upstream demo=PATH" in done.err


def test_a_version_may_be_digits_alone_where_there_are_no_commits(released: Released) -> None:
    released.release("2", CORE)
    assert released.port("demo@1.0", "--to", "2").code == 0
    assert (released.environment.folder / "demo@2/overlay.lock").is_file()


SHARED = """\
from npu_overlays.markers import upstream, wrapped


@wrapped(targets=["demo/core.py:describe", "demo/core.py:tell"], why="Louder.")
def loud(name):
    return upstream(name=name).upper()
"""
SHOUTS = """\
from npu_overlays.markers import upstream, wrapped


@wrapped(why="Louder still.")
def shout(name):
    return upstream(name).upper()
"""
TELLS = b"\n\ndef tell(name):\n    return name\n"
SHOUTED = b"\n\ndef hub(kind):\n    return id\n\n\n@hub(1)\ndef shout(name):\n    return name\n"


def test_one_decision_settles_all_that_a_cause_concerns(released: Released) -> None:
    core = CORE + TELLS
    released.release("1.1", core + SHOUTED)
    assert released.port("demo@1.0", "--to", "1.1").code == 0
    folder = released.environment.folder
    released.write("demo@1.1", "demo/core.py", SHOUTS)
    (folder / "demo@1.1/shared").mkdir()
    (folder / "demo@1.1/shared/loud.py").write_text(SHARED)
    released.environment.ok("lock", "demo@1.1")
    released.release("1.2", core.replace(b"name", b"who") + SHOUTED.replace(b"hub", b"kernel"))
    done = released.port("demo@1.1", "--to", "1.2")
    assert done.code == 5, done.err
    assert "\nProposed:\n\n`name` is `who` now\n  proposed: use the name that upstream has now\n" in done.out
    assert "    |     return upstream(who=who).upper()\n" in done.out
    assert "3 parts open, for 2 causes: 2 with a proposal, 0 for you" in done.out
    assert max(map(len, done.out.splitlines()[1:])) <= 100
    named = released.port("demo@1.2", "--continue", "--accept", "name-is-who-now", "--json").json()
    assert [(one["said"], one["proposal"], one["parts"]) for one in named["causes"] if one["open"]] == [
        ("upstream's decorator `@hub(1)` is `@kernel(1)` now", "keep", ["demo/core.py:shout"])
    ]
    assert not (folder / "demo@1.2/shared").exists() or not list((folder / "demo@1.2/shared").iterdir())
    # What stays as it is, is remembered as long as the port is under way, and then the lock says it.
    text = (folder / "demo@1.2/tree/demo/core.py").read_text()
    (kept,) = (one["name"] for one in named["causes"] if one["open"])
    assert released.port("demo@1.2", "--continue", "--accept", kept).code == 0
    assert (folder / "demo@1.2/tree/demo/core.py").read_text() == text
    assert "@kernel(1)" in (folder / "demo@1.2/overlay.lock").read_text()
    assert "who=who" in released.environment.ok("diff", "demo@1.2").out


def test_a_cause_is_dropped_with_one_reason(released: Released) -> None:
    released.release("1.1", CORE.replace(b"describe", b"other").replace(b"return name", b"pass"))
    done = released.port("demo@1.0", "--to", "1.1", "--json")
    (cause,) = (one for one in done.json()["causes"] if one["open"])
    assert (cause["proposal"], cause["unknown"]) == ("drop", ["whether `other` needs the change, too"])
    assert released.port("demo@1.1", "--continue", "--drop", f"{cause['name']}=Not here.").code == 0
    assert "Not here." not in (released.environment.folder / "demo@1.1/overlay.lock").read_text()
    assert "describe" not in (released.environment.folder / "demo@1.1/tree/demo/core.py").read_text()


SHOUTING = b"\n\ndef shout(name):\n    return name\n"
SAME_WORDS = """\


@wrapped(why="For its name.")
def shout(name):
    return upstream(name)
"""


def test_parts_that_have_a_proposal_and_those_left_to_a_person_are_two_decisions(released: Released) -> None:
    released.release("1.1", CORE + SHOUTING)
    assert released.port("demo@1.0", "--to", "1.1").code == 0
    released.write("demo@1.1", "demo/core.py", OPERATIONS + SAME_WORDS)
    released.environment.ok("lock", "demo@1.1")
    released.release("1.2", (CORE + SHOUTING).replace(b"(name):", b"(name, loud=False):"))
    causes = released.port("demo@1.1", "--to", "1.2", "--json").json()["causes"]
    assert [(one["name"], one["proposal"], one["parts"]) for one in causes] == [
        ("loud-is-new-to-decide", "", ["demo/core.py:describe"]),
        ("loud-is-new", "follow", ["demo/core.py:shout"]),
    ]
    assert [len(one["unknown"]) for one in causes] == [1, 1]
    left = released.port("demo@1.2", "--continue", "--drop", "loud-is-new-to-decide=Not here.", "--json").json()
    assert [one["name"] for one in left["causes"] if one["open"]] == ["loud-is-new"]
