"""`port`: an overlay carried to another commit or release, on a real repository, in as many steps as it takes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import tomllib

from authoring.port.moving_upstream import Moving, changed_core, kinds, make_moving
from end_to_end.sample import (
    CORE,
    LIB_EDIT,
    LIB_FILES,
    LIB_METADATA,
    LIB_OVERLAY,
    README,
    Sample,
)
from support.marks import rarely
from support.overlays import write_layer, write_overlay
from support.upstreams import METADATA
from support.wheels import write_wheel

pytestmark = pytest.mark.slow


def say(sample: Sample, commit: str) -> Path:
    """Write an overlay of which all stands in a layer, and return its folder."""
    config = LIB_EDIT.replace("tool.overlay.", "")
    settings = 'suffix = "npu"\npurpose = "NPU"\npackages = ["src/lib"]\nlicense-files = ["LICENSE"]\n'
    repository = f'[upstream]\nrepository = "{sample.lib.url}"\n\n'
    write_layer(sample.overlays / "lib", project="lib", files=LIB_OVERLAY, config=f"{settings}{repository}{config}")
    return write_overlay(
        sample.overlays,
        project="lib",
        commit=commit,
        repository=sample.lib.url,
        packages=["src/lib"],
        files={},
        overlay='not-built = ["tests"]  # its tests\n',
    )


@pytest.fixture
def moving(shared: Path, tmp_path: Path) -> Moving:
    return make_moving(shared, "ported", say, tmp_path)


def test_what_fits_everywhere_is_ported_at_once(moving: Moving) -> None:
    commit = moving.commit("notes (#1)", {"README.md": b"# lib\n\nMore.\n"})
    before = {path: path.read_bytes() for path in (moving.root / "lib").rglob("*") if path.is_file()}
    found = moving.ported("--to", commit)
    folder = moving.root / f"lib@{commit[:7]}"
    assert (found["finished"], found["folder"], found["problems"]) == (True, str(folder), [])
    assert {path.name for path in folder.iterdir()} == {"pyproject.toml", "README.md", "overlay.lock"}
    text = (folder / "pyproject.toml").read_text()
    assert 'not-built = ["tests"]  # its tests\n' in text
    values = tomllib.loads(text)["tool"]["overlay"]
    assert values["upstream"]["commit"] == commit
    assert {path: path.read_bytes() for path in before} == before
    moving.sample.environment.ok("check", folder.name, "--upstream", f"lib={moving.clone}")


@pytest.mark.thorough
def test_a_commit_with_a_mark_in_a_name_that_nobody_sees(moving: Moving) -> None:
    """As verl had for three months: it is ported to and told of, built, and what is built is verified."""
    commit = moving.commit("script", {"src/lib/run.sh\u200e": b"true\n"})
    ported = moving.port(moving.name, "--to", commit)
    name = f"lib@{commit[:7]}"
    checked = moving.sample.environment.ok("check", name, "--upstream", f"lib={moving.clone}")
    # uv does not install it.
    told = f"{name}: upstream has a character in the name 'src/lib/run.sh\\u200e' that nobody sees"
    assert [" ".join(done.err.split()).count(told) for done in (ported, checked)] == [1, 1]
    wheels = moving.sample.folder / "wheels"
    moving.sample.environment.ok("build", name, "--upstream", f"lib={moving.clone}", "--out", wheels)
    moving.sample.environment.ok("verify-wheel", *sorted(wheels.glob("*.whl")))


def test_proposals_are_made_and_not_carried_out_unasked(moving: Moving) -> None:
    first = moving.commit("rename stop (#7)", {"src/lib/core.py": CORE.replace(b"def stop", b"def halt")})
    commit = moving.commit("much (#8)", {"src/lib/core.py": changed_core()})
    found = moving.ported("--to", commit, code=5)
    assert kinds(found) == {
        "Engine.start": "body changed",
        "Engine.stop": "renamed",
        "Engine.obsolete": "already gone",
        "scale": "absorbed",
    }
    blamed = {one["target"].rpartition(":")[2]: one["commit"] for one in found["parts"] if one["commit"]}
    assert (blamed["Engine.stop"]["id"], blamed["Engine.stop"]["pull"]) == (first, "7")
    assert blamed["scale"]["id"] == commit
    name = f"lib@{commit[:7]}"
    assert not (moving.root / name / "overlay.lock").exists()
    assert f"next: npu-overlays port {name} --continue --accept all\n" in moving.port(name, "--continue").out
    done = moving.port(name, "--continue", "--accept", "all")
    assert done.code == 5
    assert "1 part open, for 1 cause: 1 with a proposal, 0 for you" in done.out
    assert f"next: npu-overlays port {name} --continue --accept absorbed\n" in done.out
    assert "scale" in done.out
    done = moving.port(name, "--continue", "--accept", "absorbed", "--json")
    assert done.code == 0, done.err
    moving.sample.environment.ok("check", name, "--upstream", f"lib={moving.clone}")
    diff = moving.sample.environment.ok("diff", name, "--upstream", f"lib={moving.clone}").out
    assert "stopped at once" in diff
    assert "def halt" in diff
    assert not (moving.root / name / ".port.json").exists()
    drops = tomllib.loads((moving.root / name / "pyproject.toml").read_text())["tool"]["overlay"]["drop"]
    assert [one["name"] for one in drops] == [
        *("src/lib/core.py:Engine.stop", "src/lib/core.py:Engine.obsolete", "src/lib/core.py:scale")
    ] or len(drops) == 3
    assert "(#8)" in next(one["why"] for one in drops if one["name"].endswith(":scale"))


def test_what_needs_its_lock_says_that_the_port_is_to_be_continued(moving: Moving) -> None:
    commit = moving.commit("much", {"src/lib/core.py": changed_core()})
    moving.ported("--to", commit, code=5)
    name = f"lib@{commit[:7]}"
    for command in ("check", "build", "drift"):
        more = ("--range", "..main") if command == "drift" else ()
        done = moving.sample.environment.cli(command, name, *more, "--upstream", f"lib={moving.clone}")
        assert done.code == 3
        assert "its port is not finished" in done.err
        assert f"run `npu-overlays port {name} --continue`" in " ".join(done.err.split())
    assert "not locked" in moving.sample.environment.ok("list").out


def test_all_in_one_run(moving: Moving) -> None:
    commit = moving.commit("much (#8)", {"src/lib/core.py": changed_core()})
    # A kind that nothing is of is no mistake.
    found = moving.ported("--to", commit, "--accept", "all", "--accept", "scale", "--accept", "left")
    assert found["finished"]


def test_what_only_a_person_can_decide(moving: Moving) -> None:
    gone = CORE[: CORE.index(b"class Engine")] + CORE[CORE.index(b"def describe") :].replace(b"Engine().start()", b"1")
    commit = moving.commit("no engine", {"src/lib/core.py": gone, "src/lib/__init__.py": b""})
    name = f"lib@{commit[:7]}"
    done = moving.port(moving.name, "--to", commit)
    assert done.code == 5
    assert "has no class `Engine`" in done.out
    shown = moving.port(name, "--show", "Engine.start")
    assert 'return "upstream" * times' in shown.out
    drops = ["Engine.start=No engine.", "Engine.stop=No engine.", "Engine.device=No engine."]
    done = moving.port(name, "--continue", "--accept", "all", *(part for drop in drops for part in ("--drop", drop)))
    assert done.code == 0, done.out + done.err
    assert "No engine." in (moving.root / name / "pyproject.toml").read_text()


def test_a_substitution_beside_another_in_its_file_stays(moving: Moving) -> None:
    layer = moving.root / "lib" / "layer.toml"
    more = (
        '\n[[edit]]\npaths = ["src/lib/data/settings.yaml"]\nfind = "limit: 1"\nreplace = "limit: 64"\nwhy = "More."\n'
    )
    accepted = 'accept = ["seed: none of it"]\nsince = "1.0"\nuntil = "9"\n'
    layer.write_text(layer.read_text() + accepted + more)
    moving.sample.environment.ok("lock", moving.name)
    settings = LIB_FILES["src/lib/data/settings.yaml"].replace(b"limit: 1", b"limit: 64")
    commit = moving.commit("limit", {"src/lib/data/settings.yaml": settings})
    assert moving.ported("--to", commit, "--accept", "absorbed")["finished"]
    values = tomllib.loads((moving.root / f"lib@{commit[:7]}" / "pyproject.toml").read_text())
    (stated,) = values["tool"]["overlay"]["edit"]
    assert (stated["accept"], stated["since"], stated["until"]) == (["seed: none of it"], "1.0", "9")
    diff = moving.sample.environment.ok("diff", f"lib@{commit[:7]}", "--upstream", f"lib={moving.clone}").out
    assert "+searchpath: pkg://lib.config" in diff


def test_what_is_stated_anew_is_for_the_versions_it_was_for(moving: Moving) -> None:
    overlay = moving.root / "lib/tree/src/lib/core.py"
    text = overlay.read_text().replace('why="Stops at once."', 'why="Stops at once.", since="1.0", until="9"')
    overlay.write_text(text.replace('"obsolete", why="Nobody calls it."', '"obsolete", why="Nobody.", until="8"'))
    moving.sample.environment.ok("lock", moving.name)
    core = CORE.replace(b"def stop", b"def halt").replace(b"def obsolete", b"def outdated")
    commit = moving.commit("rename", {"src/lib/core.py": core})
    assert moving.ported("--to", commit, "--accept", "all")["finished"]
    stated = (moving.root / f"lib@{commit[:7]}/tree/src/lib/core.py").read_text()
    bounds = 'drop_when="upstream stops at once", since="1.0", until="9"'
    assert f'    @replaced(why="Stops at once.", {bounds})\n    def halt(' in stated
    assert '\n    deleted("outdated", why="Nobody.", until="8")\n' in stated
    assert stated.count("class Engine:") == 1


def test_a_substitution_that_occurs_twice_now_is_told_by_what_stands_above_it(moving: Moving) -> None:
    layer = moving.root / "lib" / "layer.toml"
    more = (
        '\n[[edit]]\npaths = ["src/lib/data/settings.yaml"]\nfind = "limit: 1"\nreplace = "limit: 64"\nwhy = "More."\n'
    )
    layer.write_text(layer.read_text() + more)
    moving.sample.environment.ok("lock", moving.name)
    settings = LIB_FILES["src/lib/data/settings.yaml"] + b"reward:\nlimit: 1\n"
    commit = moving.commit("reward", {"src/lib/data/settings.yaml": settings})
    found = moving.ported("--to", commit, "--accept", "all")
    assert found["finished"]
    diff = moving.sample.environment.ok("diff", f"lib@{commit[:7]}", "--upstream", f"lib={moving.clone}").out
    assert "+searchpath: pkg://lib.config\n+limit: 64\n reward:\n limit: 1\n" in diff.replace("-limit: 1\n", "")


def test_abort_and_begin_again(moving: Moving) -> None:
    commit = moving.commit("much", {"src/lib/core.py": changed_core()})
    name = f"lib@{commit[:7]}"
    moving.ported("--to", commit, code=5)
    again = moving.port(moving.name, "--to", commit)
    assert (again.code, "an unfinished port to that is there" in again.err) == (2, True)
    # A run that was killed leaves the folder as it is: another one goes on from there.
    assert moving.port(name, "--continue").code == 5
    assert moving.port(name, "--abort").code == 0
    assert not (moving.root / name).exists()
    assert moving.port(name, "--continue").code == 3
    assert moving.ported("--to", commit, "--accept", "all", "--accept", "absorbed")["finished"]
    there = moving.port(moving.name, "--to", commit)
    assert (there.code, "there is an overlay for that already" in there.err) == (2, True)
    assert moving.port(name, "--abort").code == 3
    assert (moving.root / name).is_dir()


def test_proposals_are_accepted_one_by_one_and_twice(moving: Moving) -> None:
    """What moved into one file is stated there together, whether at once or one after the other."""
    said = moving.root / "lib/tree/src/lib/core.py"
    text = said.read_text().replace("import functools\n", "import functools\nimport operator\n")
    said.write_text(text.replace('"value * 3")', '"value * operator.index(3)"), uses=[operator]'))
    moving.sample.environment.ok("lock", moving.name)
    core = CORE.replace(b"def stop", b"def halt").replace(b"def scale", b"def scaled")
    commit = moving.commit("rename", {"src/lib/core.py": core})
    moving.ported("--to", commit, code=5)
    name = f"lib@{commit[:7]}"
    assert moving.port(name, "--continue", "--accept", "Engine.stop").code == 5
    done = moving.port(name, "--continue", "--accept", "scale")
    assert done.code == 0, done.out + done.err
    diff = moving.sample.environment.ok("diff", name, "--upstream", f"lib={moving.clone}").out
    assert '+        return "stopped at once"' in diff
    assert "+    return value * operator.index(3)" in diff
    assert "uses=[operator]" in (moving.root / name / "tree/src/lib/core.py").read_text()


def test_to_a_commit_that_a_clone_is_not_at(moving: Moving) -> None:
    commit = moving.commit("notes", {"README.md": b"# lib\n\nMore.\n"})
    moving.commit("more notes", {"src/lib/core.py": changed_core()})
    assert moving.ported("--to", commit)["finished"]


def test_abort_keeps_the_work_of_others(moving: Moving) -> None:
    commit = moving.commit("much", {"src/lib/core.py": changed_core()})
    moving.ported("--to", commit, code=5)
    name, folder = f"lib@{commit[:7]}", moving.root / f"lib@{commit[:7]}"
    assert moving.port(name, "--continue", "--accept", "renamed").code == 5
    mine = folder / "tree/src/lib/mine.py"
    mine.write_text("MINE = 1\n", "utf-8")
    (folder / "tree/__pycache__").mkdir()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = moving.port(name, "--abort")
    assert (done.code, "holds work of yours: tree/src/lib/mine.py" in done.err) == (2, True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    mine.unlink()
    config = (folder / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text(f"{config}# mine\n", "utf-8")
    assert "holds work of yours: pyproject.toml" in moving.port(name, "--abort").err
    (folder / "pyproject.toml").write_text(config, "utf-8")
    assert moving.port(name, "--abort").code == 0
    assert not folder.exists()


@pytest.mark.parametrize("written", ["among the others", *rarely("inline", "dotted")])
def test_settings_are_carried_over_however_they_are_written(moving: Moving, written: str) -> None:
    """A text that reads as a setting stays what it is, comments stay, and own licences come along."""
    folder = moving.root / moving.name
    head, _, upstream = (folder / "pyproject.toml").read_text().partition("[tool.overlay.upstream]\n")
    values = tomllib.loads(upstream)
    edit = (
        '\n# Why.\n[[tool.overlay.edit]]\npaths = ["src/lib/notes.txt"]\nfind = "one\\n"\n'
        'replace = """\nrevision = 7\n[tool.overlay.upstream]\n"""\nwhy = "w"\n'
    )
    dropped = 'drop = [{ name = "src/lib/extra.py", why = "w" }]\n'
    text = {
        "inline": f'upstream = {{ repository = "{values["repository"]}", commit = "{values["commit"]}" }}\n{edit}',
        "dotted": f'upstream.repository = "{values["repository"]}"\nupstream.commit = "{values["commit"]}"\n{edit}',
        "among the others": f"{dropped}\n[tool.overlay.upstream]\n{upstream}{edit}",
    }[written]
    (folder / "pyproject.toml").write_text(head + text, "utf-8")
    (folder / "NOTICE").write_text("Ours.\n", "utf-8")
    moving.sample.environment.ok("lock", moving.name)
    commit = moving.commit("much", {"src/lib/core.py": changed_core()})
    assert moving.ported("--to", commit, "--accept", "all", "--accept", "absorbed")["finished"]
    new = moving.root / f"lib@{commit[:7]}"
    assert (new / "NOTICE").read_text() == "Ours.\n"
    found = tomllib.loads((new / "pyproject.toml").read_text())["tool"]["overlay"]
    assert found["upstream"] == {**values, "commit": commit}
    assert [one["replace"] for one in found["edit"]] == ["revision = 7\n[tool.overlay.upstream]\n"]
    assert "# Why.\n[[tool.overlay.edit]]" in (new / "pyproject.toml").read_text()
    assert any(one["name"].endswith("Engine.stop") for one in found["drop"])


def test_to_a_release(moving: Moving) -> None:
    files = {path.removeprefix("src/"): content for path, content in LIB_FILES.items() if path.startswith("src/lib/")}
    files |= {"lib/core.py": changed_core(), "tests/__init__.py": b""}
    info = {"lib-2.0.dist-info/licenses/LICENSE": b"Free for all.\n"}
    index = moving.sample.folder / "own-index"
    metadata = f"{LIB_METADATA}\n{README}".replace("1.2.3", "2.0")
    write_wheel(index, "lib", "2.0", {**files, **info}, metadata=metadata)
    done = moving.sample.environment.cli(
        *("port", moving.name, "--to", "2.0", "--accept", "all", "--accept", "absorbed", "--json"),
        PIP_FIND_LINKS=str(index),
    )
    assert done.code == 0, done.out + done.err
    found = done.json()
    assert (found["to"], found["version"], found["finished"]) == ("lib@2.0", "2.0", True)
    (archive,) = tomllib.loads((moving.root / "lib@2.0/pyproject.toml").read_text())["tool"]["overlay"]["upstream"][
        "archive"
    ]
    assert (archive["file"], len(archive["sha256"])) == ("lib-2.0-py3-none-any.whl", 64)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--to", "nowhere"], 4, "nowhere: not found in "),
        (["--to", "9.9"], 4, "9.9"),
        (["--to", "main", "--continue"], 2, "not allowed with"),
        (["--continue"], 3, "holds no unfinished port"),
        (["--abort", "--accept", "all"], 2, "nothing is decided with --abort"),
        (["--to", "main", "--drop", "x"], 2, "`x` is not NAME=WHY"),
    ],
)
def test_refused(moving: Moving, arguments: list[str], code: int, message: str) -> None:
    before = sorted(path.name for path in moving.root.iterdir())
    done = moving.port(moving.name, *arguments)
    assert (done.code, message in done.err) == (code, True), done.err
    assert sorted(path.name for path in moving.root.iterdir()) == before


def test_names_that_are_none(moving: Moving) -> None:
    commit = moving.commit("much", {"src/lib/core.py": changed_core()})
    done = moving.port(moving.name, "--to", commit, "--accept", "renaimed", "--drop", "Engine.fly=Never.")
    assert done.code == 2
    assert "--accept renaimed: names no part that is left to decide" in done.err
    assert "--drop Engine.fly" in done.err


def test_a_commit_with_none_of_the_packages_is_refused(moving: Moving) -> None:
    shipped = [path for path in LIB_FILES if path.startswith("src/lib/")]
    commit = moving.commit("moved", {**dict.fromkeys(shipped), "other/__init__.py": b""})
    done = moving.port(moving.name, "--to", commit)
    assert done.code == 4
    assert f"commit {commit[:9]}: holds none of the shipped packages: src/lib" in done.err
    assert "the Python modules of this one are other, packaging, scripts, tests" in done.err
    assert not (moving.root / f"lib@{commit[:7]}").exists()


def test_a_package_that_became_a_submodule_is_shipped_no_more(moving: Moving) -> None:
    config = moving.root / moving.name / "pyproject.toml"
    config.write_text(config.read_text().replace('["src/lib"]', '["src/lib", "scripts"]'))
    moving.sample.environment.ok("lock", moving.name)
    git = moving.sample.environment.succeed
    git("git", "-C", moving.clone, "rm", "-r", "--quiet", "scripts")
    git("git", "-C", moving.clone, "update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},scripts")
    git("git", "-C", moving.clone, "commit", "--quiet", "--message", "elsewhere")
    commit = git("git", "-C", moving.clone, "rev-parse", "HEAD").out.strip()
    done = moving.port(moving.name, "--to", commit)
    assert done.code == 0, done.err
    assert f"commit {commit[:9]} holds no `scripts`, so packages of the new pin leaves it out" in done.err + done.out
    new = tomllib.loads((moving.root / f"lib@{commit[:7]}/pyproject.toml").read_text())
    assert new["tool"]["overlay"]["packages"] == ["src/lib"]


def test_all_of_a_package_that_left_is_dropped_by_its_folder(moving: Moving) -> None:
    config = moving.root / moving.name / "pyproject.toml"
    config.write_text(config.read_text().replace('["src/lib"]', '["src/lib", "scripts"]'))
    said = moving.root / "lib/tree/scripts/__init__.py"
    said.parent.mkdir()
    said.write_text("from npu_overlays.markers import added\n\nA = added(1, why='A.')\nB = added(2, why='B.')\n")
    moving.sample.environment.ok("lock", moving.name)
    commit = moving.commit("elsewhere (#3)", {"scripts/__init__.py": None})
    config = moving.root / f"lib@{commit[:7]}/pyproject.toml"
    # As long as one of them is to be decided, the others go by their own names.
    assert not moving.ported("--to", commit, "--accept", "A", code=5)["finished"]
    assert [one["name"] for one in dropped(config)] == ["scripts/__init__.py:A"]
    moving.sample.environment.ok("port", config.parent.name, "--abort")
    assert moving.ported("--to", commit, "--accept", "left")["finished"]
    (only,) = dropped(config)
    assert only["name"] == "scripts/"
    assert "there is no scripts/ any more" in only["why"]
    assert "elsewhere (#3)" in only["why"]


def test_what_moved_before_it_left_is_for_a_person(moving: Moving) -> None:
    """A commit that moves a file deletes nothing, whatever later commits do with it there."""
    said = moving.root / "lib/tree/src/lib/extra.py"
    said.write_text(
        "from npu_overlays.markers import replaced\n\n\n@replaced(why='A.')\ndef forgotten():\n    return 2\n"
    )
    moving.sample.environment.ok("lock", moving.name)
    content = (moving.clone / "src/lib/extra.py").read_bytes()
    first = moving.commit("elsewhere (#4)", {"src/lib/extra.py": None, "tests/old.py": content})
    last = moving.commit("away (#5)", {"tests/old.py": None})
    found = moving.ported("--to", last, "--accept", "all", code=5)
    (part,) = (one for one in found["parts"] if one["target"] == "src/lib/extra.py:forgotten")
    assert (part["kind"], part["proposal"], part["cause"]) == ("retired", "", f"gone-in-{first[:9]}-to-decide")
    moved = f"; {first[:9]} moved src/lib/extra.py to tests/old.py; {last[:9]} of "
    assert moved in part["evidence"]
    assert part["evidence"].endswith("away (#5) deleted that")


def dropped(config: Path) -> list[dict[str, str]]:
    """Return what a pin drops of its layers."""
    found: list[dict[str, str]] = tomllib.loads(config.read_text())["tool"]["overlay"].get("drop", [])
    return found


def test_what_takes_the_place_of_a_layers_operation_is_written_and_that_dropped(moving: Moving) -> None:
    core = CORE.replace(b"def start(self, times: int = 1)", b"def start(self, times: int = 1, loud: bool = False)")
    layer = moving.root / "lib" / "layer.toml"
    layer.write_text(f'not-built = ["src/lib/data/table.bin"]\n{layer.read_text()}')  # which other pins need
    commit = moving.commit("loud", {"src/lib/core.py": core, "src/lib/data/table.bin": None})
    name = f"lib@{commit[:7]}"
    assert kinds(moving.ported("--to", commit, code=5)) == {"Engine.start": "signature changed"}
    own = moving.root / name / "tree/src/lib/core.py"
    own.parent.mkdir(parents=True)
    own.write_text(
        "from npu_overlays.markers import upstream, wrapped\n\n\nclass Engine:\n"
        '    @wrapped(why="Loudly.")\n    def start(self, times: int = 1, loud: bool = False) -> str:\n'
        '        return "NPU+" + upstream(self, times, loud)\n'
    )
    done = moving.port(name, "--continue")
    assert done.code == 5
    assert "second operation on `Engine.start`" in done.err
    assert "\n    fix: leave out that of lib" in done.err  # on a line of its own
    assert "1 problem left" in done.out
    done = moving.port(name, "--continue", "--drop", "Engine.start=Stated anew.")
    assert done.code == 0, done.out + done.err
    diff = moving.sample.environment.ok("diff", name, "--upstream", f"lib={moving.clone}").out
    assert '+        return "NPU+"' in diff


def test_what_an_operation_reads_is_another_now(moving: Moving) -> None:
    """It still applies, and would do something else, or nothing."""
    overlay = moving.root / "lib/tree/src/lib/core.py"
    text = overlay.read_text().replace('return "npu+" + upstream(self, times)', "return OLD + upstream(self, times)")
    overlay.write_text(text)
    moving.sample.environment.ok("lock", moving.name)
    commit = moving.commit("old", {"src/lib/core.py": CORE.replace(b'OLD = "old"', b"OLD = 1")})
    found = moving.ported("--to", commit)
    (start,) = (one for one in found["parts"] if one["target"].endswith("Engine.start"))
    assert (start["kind"], start["applies"]) == ("reads changed", True)
    assert "core.py:OLD" in start["evidence"]
    assert "lib/tree/src/lib/core.py:" in start["evidence"]
    (cause,) = (one for one in found["causes"] if one["name"] == start["cause"])
    assert cause["said"] == "upstream changed `src/lib/core.py:OLD`, which it reads: its value (`'old'` → `1`)"
    assert re.fullmatch(r"whether our lib/tree/src/lib/core\.py:\d+ is still right", cause["unknown"][0])


def test_lines_that_read_what_is_another_now_are_named_as_ranges(moving: Moving) -> None:
    reading(
        moving, "(\n            OLD\n            + str(self.speed)\n            + str(main) + upstream(self, times))"
    )
    core = CORE.replace(b'OLD = "old"', b"OLD = 1").replace(b"speed = 1", b"speed = 2")
    found = moving.ported("--to", moving.commit("other", {"src/lib/core.py": core.replace(b"main()", b"main(x=1)")}))
    (cause,) = (one for one in found["causes"] if "OLD" in one["said"])
    text = (moving.root / "lib/tree/src/lib/core.py").read_text()
    first = text[: text.index("            OLD\n")].count("\n") + 1
    lines = f"lines {first}-{first + 2} of lib/tree/src/lib/core.py"
    assert cause["unknown"] == [f"whether our {lines} are still right"]


def test_what_is_added_is_looked_at_with_what_uses_it(moving: Moving) -> None:
    """It fits wherever its name is free, and may be for a parameter that is another now."""
    overlay = moving.root / "lib/tree/src/lib/core.py"
    text = overlay.read_text().replace('return "npu+" + upstream(self, times)', "return helped(upstream(self, times))")
    helpers = "".join(
        f'\n\n@added(why="For start.")\ndef {name}(text):\n    return text\n' for name in ("helped", "alone")
    )
    overlay.write_text(text + helpers)
    moving.sample.environment.ok("lock", moving.name)
    commit = moving.commit("above", {"src/lib/core.py": CORE.replace(b'return "upstream"', b'return "above"')})
    found = kinds(moving.ported("--to", commit))
    assert (found["Engine.start"], found["helped"]) == ("body changed", "user changed")
    assert "alone" not in found


def test_the_commit_of_what_landed_is_that_by_which_it_came(moving: Moving) -> None:
    """Others may have changed its file before, and after."""
    overlay = moving.root / "lib/tree/src/lib/core.py"
    overlay.write_text(overlay.read_text().replace("https://example.invalid/pull/1", "#8"))
    moving.sample.environment.ok("lock", moving.name)
    moving.commit("before (#7)", {"src/lib/core.py": CORE.replace(b'return "upstream"', b'return "above"')})
    landed = moving.commit("the NPU's part (#8)", {"src/lib/core.py": changed_core()})
    moving.commit("after (#9)", {"src/lib/core.py": changed_core() + b"\n# more\n"})
    found = moving.ported("--to", "main", code=5)
    (start,) = (one for one in found["parts"] if one["target"].endswith("Engine.start"))
    assert (start["kind"], start["commit"]["id"]) == ("absorbed", landed)


def test_a_short_reason_is_written_as_a_long_one(moving: Moving) -> None:
    commit = moving.commit("no obsolete", {"src/lib/core.py": changed_core()})
    moving.ported("--to", commit, "--accept", "renamed", "--accept", "absorbed", code=5)
    name = f"lib@{commit[:7]}"
    assert moving.port(name, "--continue", "--drop", "Engine.obsolete=No.").code == 0
    drops = tomllib.loads((moving.root / name / "pyproject.toml").read_text())["tool"]["overlay"]["drop"]
    assert {"name": "src/lib/core.py:Engine.obsolete", "why": "No."} in drops


def ended(moving: Moving, **bounds: str) -> str:
    """Give the layer's edit of `scale` bounds, and return a commit of upstream's 2.0."""
    overlay = moving.root / "lib/tree/src/lib/core.py"
    text, said = overlay.read_text(), "".join(f', {name}="{one}"' for name, one in bounds.items())
    assert text.count('why="Three is right here."') == 1
    overlay.write_text(text.replace('why="Three is right here."', f'why="Three is right here."{said}'))
    moving.sample.environment.ok("lock", moving.name)
    return moving.commit("two", {METADATA: LIB_FILES[METADATA].replace(b"1.2.3", b"2.0")})


def test_what_ends_by_until_is_open_while_its_target_stands(moving: Moving) -> None:
    commit = ended(moving, until="2")
    found = moving.ported("--to", commit, code=5)
    (scale,) = (one for one in found["parts"] if one["kind"] != "fits")
    assert (scale["target"], scale["kind"], scale["applies"]) == ("src/lib/core.py:scale", "ended", False)
    assert "ends by `until` 2" in next(one["said"] for one in found["causes"] if one["open"])
    name = f"lib@{commit[:7]}"
    done = moving.port(name, "--continue", "--drop", "scale=Two is right in 2.0.")
    assert done.code == 0, done.out + done.err
    moving.sample.environment.ok("check", name, "--upstream", f"lib={moving.clone}")


@pytest.mark.thorough
def test_what_ends_by_until_is_settled_by_another_bound(moving: Moving) -> None:
    commit = ended(moving, until="2")
    assert kinds(moving.ported("--to", commit, code=5)) == {"scale": "ended"}
    overlay = moving.root / "lib/tree/src/lib/core.py"
    overlay.write_text(overlay.read_text().replace('until="2"', 'until="3"'))
    done = moving.port(f"lib@{commit[:7]}", "--continue")
    assert done.code == 0, done.out + done.err


def test_what_ends_by_until_is_noted_where_its_target_is_gone_or_a_later_pin_decided(moving: Moving) -> None:
    commit = ended(moving, until="2")
    moving.ported("--to", commit, "--drop", "scale=Two is right in 2.0.")
    later = moving.commit("more", {"src/lib/run.sh": b"#!/bin/sh\necho more\n"})
    told = moving.ported("--to", later)
    assert (told["finished"], [one for one in told["notes"] if "scale (until 2)" in one]) == (True, told["notes"])
    shutil.rmtree(moving.root / f"lib@{commit[:7]}")
    shutil.rmtree(moving.root / f"lib@{later[:7]}")
    gone = CORE[: CORE.index(b"def scale")]
    told = moving.ported("--to", moving.commit("none", {"src/lib/core.py": gone}))
    assert (told["finished"], [one for one in told["notes"] if "scale (until 2)" in one]) == (True, told["notes"])


def reading(moving: Moving, returned: str) -> None:
    """Write the layer's wrapper of `start` with what it returns, and lock it."""
    overlay = moving.root / "lib/tree/src/lib/core.py"
    text = overlay.read_text().replace('"npu+" + upstream(self, times)', returned)
    assert returned in text
    overlay.write_text(text)
    moving.sample.environment.ok("lock", moving.name)


def test_an_operation_that_reads_what_is_gone_is_open_until_it_reads_it_no_more(moving: Moving) -> None:
    reading(moving, "OLD + upstream(self, times)")
    commit = moving.commit("no old", {"src/lib/core.py": CORE.replace(b'OLD = "old"', b'OTHER = "old"')})
    found = moving.ported("--to", commit, code=5)
    (start,) = (one for one in found["parts"] if one["target"].endswith("Engine.start"))
    assert (start["kind"], start["applies"], start["proposal"]) == ("reads changed", False, "")
    assert "core.py:OLD`: it is gone" in start["evidence"]
    overlay = moving.root / "lib/tree/src/lib/core.py"
    overlay.write_text(overlay.read_text().replace("return OLD +", "return OTHER +"))
    done = moving.port(f"lib@{commit[:7]}", "--continue")
    assert done.code == 0, done.out + done.err


def test_an_operation_follows_a_function_that_has_another_name_now(moving: Moving) -> None:
    """The layer serves older pins and keeps the old name; the new pin states the operation anew, for the same ones."""
    overlay = moving.root / "lib/tree/src/lib/core.py"
    stated = overlay.read_text().replace('why="Says that it is patched."', 'why="Says it.", until="99"')
    overlay.write_text(stated)
    reading(moving, "describe(upstream(self, times))")
    commit = moving.commit("explain", {"src/lib/core.py": CORE.replace(b"describe", b"explain")})
    found = moving.ported("--to", commit, code=5)
    (cause,) = (one for one in found["causes"] if one["open"])
    assert (cause["said"], cause["proposal"]) == ("`describe` is `explain` now", "follow")
    done = moving.port(f"lib@{commit[:7]}", "--continue", "--accept", cause["name"])
    assert done.code == 0, done.out + done.err
    assert "+        return explain(" in moving.diff(f"lib@{commit[:7]}")
    assert "describe(upstream" in overlay.read_text()
    own = (moving.root / f"lib@{commit[:7]}/tree/src/lib/core.py").read_text()
    assert 'until="99"' in own


@pytest.mark.parametrize(
    ("returned", "code"),
    [("return name, 1", 5), ('return name + "!"', 0), *rarely(("return None", 5))],
)
def test_an_operation_that_reads_a_function_of_another_number_of_values_is_open(
    moving: Moving, returned: str, code: int
) -> None:
    reading(moving, "describe(upstream(self, times))")
    core = CORE.replace(b'return "upstream " + name', returned.encode())
    found = moving.ported("--to", moving.commit("values", {"src/lib/core.py": core}), code=code)
    (start,) = (one for one in found["parts"] if one["target"].endswith("Engine.start"))
    assert start["applies"] == (code == 0)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [("(name, *, short=False)", 0), ("(short, name)", 5), *rarely(("(word)", 5), ("(name, short=False, **more)", 0))],
)
def test_an_operation_that_calls_a_function_with_other_parameters_is_open(
    moving: Moving, parameters: str, code: int
) -> None:
    reading(moving, "describe(upstream(self, times))")
    core = re.sub(rb"def describe\(.*?\)", b"def describe" + parameters.encode(), CORE)
    found = moving.ported("--to", moving.commit("other", {"src/lib/core.py": core}), code=code)
    (start,) = (one for one in found["parts"] if one["target"].endswith("Engine.start"))
    assert start["applies"] == (code == 0)


def test_of_two_operations_for_one_new_target_neither_is_moved(moving: Moving) -> None:
    overlay = moving.root / "lib/tree/src/lib/core.py"
    text = overlay.read_text()
    overlay.write_text(f'{text}\n\n@added(why="x")\ndef half(text):\n    return text\n')
    moving.sample.environment.ok("lock", moving.name)
    core = CORE.replace(b"def scale", b"def half").replace(b"scale(", b"half(")
    found = moving.ported("--to", moving.commit("half", {"src/lib/core.py": core}), code=5)
    (scale,) = (one for one in found["parts"] if one["target"].endswith(":scale"))
    assert (scale["kind"], scale["proposal"]) == ("renamed", "")


LEFT_OUT = '\n[[tool.overlay.drop]]\nname = "{}"\nwhy = "{}"\n'
TWO = "Two is right in 1.2.3."


def leaving_out(moving: Moving, name: str, why: str, own: str = "") -> None:
    """Let the pin drop a part of its layer, and state one of its own in the module."""
    config = moving.root / moving.name / "pyproject.toml"
    config.write_text(config.read_text() + LEFT_OUT.format(name, why))
    if own:
        file = moving.root / moving.name / "tree/src/lib/core.py"
        file.parent.mkdir(parents=True)
        file.write_text(own)
    moving.sample.environment.ok("lock", moving.name)


def of_version(moving: Moving, version: str, core: bytes = CORE) -> str:
    """Return a commit of upstream's of a version."""
    metadata = LIB_FILES[METADATA].replace(b"1.2.3", version.encode())
    return moving.commit(version, {METADATA: metadata, "src/lib/core.py": core})


@pytest.mark.parametrize("name", ["src/lib/core.py:scale", *rarely("src/lib/core.py")])
def test_what_the_pin_leaves_out_and_fits_an_older_version_is_open(moving: Moving, name: str) -> None:
    leaving_out(moving, name, TWO)
    commit = of_version(moving, "1.0")
    found = moving.ported("--to", commit, code=5)
    left = {one["target"]: one for one in found["parts"] if one["kind"] == "left out"}
    assert "src/lib/core.py:scale" in left
    assert len(left) == 1 or name == "src/lib/core.py"
    new = f"lib@{commit[:7]}"
    said = f"left out at {moving.name}, and fits {new}; the reason there: {TWO}"
    (cause,) = (one for one in found["causes"] if one["open"])
    assert (cause["said"], cause["proposal"]) == (said, "")
    assert cause["unknown"][0].endswith(
        f"delete its [[drop]] in {new}/pyproject.toml; else --drop it for the new version"
    )
    done = moving.port(new, "--continue", "--drop", f"{cause['name']}=Two is right in 1.0, too.")
    assert done.code == 0, done.out + done.err
    whys = {one["name"]: one["why"] for one in dropped(moving.root / new / "pyproject.toml")}
    assert whys["src/lib/core.py:scale"] == "Two is right in 1.0, too."
    assert whys[name] == (TWO if name == "src/lib/core.py" else "Two is right in 1.0, too.")
    moving.sample.environment.ok("check", new, "--upstream", f"lib={moving.clone}")


@pytest.mark.thorough
def test_what_the_pin_leaves_out_for_the_same_reason_again_is_decided(moving: Moving) -> None:
    leaving_out(moving, "src/lib/core.py:scale", TWO)
    commit = of_version(moving, "1.0")
    assert moving.ported("--to", commit, "--drop", f"src/lib/core.py:scale={TWO}")["finished"]


def test_what_the_pin_leaves_out_comes_back_where_its_drop_is_deleted(moving: Moving) -> None:
    leaving_out(moving, "src/lib/core.py:scale", TWO)
    commit = of_version(moving, "1.0")
    assert not moving.ported("--to", commit, code=5)["finished"]
    config = moving.root / f"lib@{commit[:7]}/pyproject.toml"
    config.write_text(config.read_text().replace(LEFT_OUT.format("src/lib/core.py:scale", TWO), ""))
    assert moving.port(config.parent.name, "--continue").code == 0
    assert "+    return value * 3" in moving.diff(config.parent.name)


@pytest.mark.parametrize(
    ("version", "core"),
    [("1.3", CORE), ("1.0", CORE.replace(b"value * 2", b"value + value"))],
    ids=["newer", "does not fit"],
)
def test_what_the_pin_leaves_out_stays_so_at_a_newer_version_and_where_it_fits_nothing(
    moving: Moving, version: str, core: bytes
) -> None:
    leaving_out(moving, "src/lib/core.py:scale", TWO)
    assert moving.ported("--to", of_version(moving, version, core))["finished"]


OWN = """\
from npu_overlays.markers import edited


@edited(("value * 2", "value * 4"), why="Four.")
def scale(value): ...
"""
OWN_OTHER = """\
from npu_overlays.markers import edited


@edited(('"upstream "', '"npu "'), why="Says so.")
def describe(name): ...
"""


@pytest.mark.parametrize(
    ("own", "why", "core"),
    [
        (OWN, "Stated anew.", CORE.replace(b"value * 2", b"2 * value")),
        (OWN_OTHER, "describe does it here.", CORE.replace(b'"upstream "', b'"above "')),
    ],
    ids=["of the same target", "named in the reason"],
)
@pytest.mark.parametrize("version", [*rarely("1.0"), "1.3"])
def test_what_the_pin_leaves_out_is_open_where_its_own_statement_does_not_fit(
    moving: Moving, own: str, why: str, core: bytes, version: str
) -> None:
    """The layer's edit of `scale` looks for what all three versions have."""
    layer = moving.root / "lib/tree/src/lib/core.py"
    layer.write_text(layer.read_text().replace('("value * 2", "value * 3")', '("return ", "return 1 + ")'))
    leaving_out(moving, "src/lib/core.py:scale", why, own)
    assert moving.ported("--to", of_version(moving, version))["finished"]
    found = moving.ported("--to", of_version(moving, version, core), code=5)
    assert sorted(one["kind"] for one in found["parts"] if not one["applies"]) == ["find gone", "left out"]
