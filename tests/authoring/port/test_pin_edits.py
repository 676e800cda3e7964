"""`port` of an overlay without a layer: what is decided of what the pin says itself is done in the new folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomllib

from authoring.port.moving_upstream import Moving, changed_core, kinds, make_moving
from end_to_end.sample import CORE, CORE_OVERLAY, LIB_EDIT, LIB_FILES, LIB_OVERLAY, Sample
from support.overlays import write_layer, write_overlay
from support.upstreams import METADATA

pytestmark = pytest.mark.slow

_CORE = "tree/src/lib/core.py"
_SHARED = b'''\
"""What several files need."""

from npu_overlays.markers import replaced


@replaced(targets=["src/lib/core.py:Engine.stop", "src/lib/core.py:Engine.obsolete"], why="Not on NPU.")
def nothing(self):
    return None
'''


def begin(sample: Sample, commit: str) -> Path:
    """Write an overlay as `init` begins it, all that it says in its own folder, and return that."""
    return write_overlay(
        sample.overlays,
        project="lib",
        commit=commit,
        repository=sample.lib.url,
        packages=["src/lib"],
        files=LIB_OVERLAY,
        upstream=f"\n# Not there.\n{LIB_EDIT}",
    )


@pytest.fixture
def alone(shared: Path, tmp_path: Path) -> Moving:
    return make_moving(shared, "ported-alone", begin, tmp_path)


def say(moving: Moving, files: Mapping[str, bytes | None], config: str = "") -> None:
    """Write into the old pin's folder what it says, and lock it."""
    folder = moving.root / moving.name
    for path, content in files.items():
        if content is None:
            (folder / path).unlink()
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    file = folder / "pyproject.toml"
    file.write_text(file.read_text("utf-8") + config, "utf-8")
    moving.sample.environment.ok("lock", folder.name)


def held(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def settings(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["tool"]["overlay"]
    return found


def test_proposals_are_carried_out_where_the_pin_says_it(alone: Moving) -> None:
    old = held(alone.root / alone.name)
    commit = alone.commit("much (#8)", {"src/lib/core.py": changed_core()})
    found = alone.ported("--to", commit, "--accept", "all", "--accept", "absorbed")
    assert found["finished"]
    assert kinds(found) == {"Engine.start": "body changed"}
    folder = alone.root / f"lib@{commit[:7]}"
    halted = CORE_OVERLAY.replace(b"def stop", b"def halt").replace(b", edited", b"")
    expected = halted[: halted.index(b'\n    deleted("obs')].replace(b"deleted, ", b"")
    assert (folder / _CORE).read_bytes() == expected
    assert "drop" not in settings(folder)
    others = LIB_OVERLAY.keys() - {_CORE, "LICENSE"}
    assert {path: held(folder)[path] for path in others} == {path: old[path] for path in others}
    assert held(alone.root / alone.name) == old
    # Nothing of it is left that could tell why.
    told = "\n".join(found["notes"])
    assert f"lib@{commit[:7]}: left out src/lib/core.py:scale: On lib@{commit[:7]}: absorbed; " in told
    assert "much (#8)" in told
    assert f"lib@{commit[:7]}: src/lib/core.py:Engine.stop stands at src/lib/core.py:Engine.halt now" in told
    assert 'return "stopped at once"' in alone.diff(folder.name)
    alone.sample.environment.ok("check", folder.name, "--upstream", f"lib={alone.clone}")


def test_what_was_done_is_the_ports_own_work_and_not_a_persons(alone: Moving) -> None:
    commit = alone.commit("much", {"src/lib/core.py": changed_core()})
    name = f"lib@{commit[:7]}"
    alone.ported("--to", commit, code=5)
    assert alone.port(name, "--continue", "--accept", "renamed", "--drop", "notes.patch=No notes.").code == 5
    assert not (alone.root / name / "patches").exists()
    assert alone.port(name, "--abort").code == 0
    assert not (alone.root / name).exists()


def test_what_ends_by_its_bounds_is_told_of(alone: Moving) -> None:
    ends = '\n[[tool.overlay.file]]\npath = "src/lib/npu.sh"\nuntil = "2"\n'
    say(alone, {}, config=ends)
    metadata = LIB_FILES[METADATA].replace(b"1.2.3", b"2.0")
    found = alone.ported("--to", alone.commit("two", {METADATA: metadata}))
    new = Path(found["folder"]).name  # which states it, too
    said = f"left out, since their `until` in {new} is not after 2.0: src/lib/npu.sh (until 2)"
    assert [note for note in found["notes"] if "left out" in note] == [f"{new}: {said}"]


def test_what_the_pin_itself_ends_is_taken_out_of_its_file(alone: Moving) -> None:
    core = CORE_OVERLAY.replace(b'why="Three is right here."', b'why="Three is right here.", until="2"')
    say(alone, {_CORE: core})
    commit = alone.commit("two", {METADATA: LIB_FILES[METADATA].replace(b"1.2.3", b"2.0")})
    assert kinds(alone.ported("--to", commit, code=5)) == {"scale": "ended"}
    folder = alone.root / f"lib@{commit[:7]}"
    done = alone.port(folder.name, "--continue", "--drop", "scale=Two is right in 2.0.")
    assert done.code == 0, done.out + done.err
    assert b"def scale" not in (folder / _CORE).read_bytes()


def test_each_part_is_left_out_with_what_is_said_of_it(alone: Moving) -> None:
    """An operation, the last one of its file, a patch, an added file and a substitution; what else there is stays."""
    accepted = '\n[[tool.overlay.file]]\npath = "src/lib/npu.py"\nuntil = "9"\n'
    other = '\n[[tool.overlay.file]]\npath = "src/lib/npu.sh"\nuntil = "9"\n'
    say(alone, {}, config=accepted + other)
    gone: dict[str, bytes | None] = {"src/lib/extra.py": None, "src/lib/data/settings.yaml": None}
    changes = gone | {"src/lib/npu.py": b"NAME = 'theirs'\n", "src/lib/notes.txt": b"un\n"}
    commit = alone.commit("gone", {**changes, "src/lib/core.py": CORE.replace(b"LIMIT = 1\n", b"")})
    found = alone.ported("--to", commit, code=5)
    assert kinds(found) == {
        "LIMIT": "retired",
        "forgotten": "retired",
        "src/lib/data/settings.yaml": "retired",
        "notes.patch": "does not fit",
        "src/lib/npu.py": "taken",
    }
    name = f"lib@{commit[:7]}"
    drops = [("--drop", f"{one}=Upstream's is better.") for one in kinds(found)]
    done = alone.port(name, "--continue", *(part for drop in drops for part in drop))
    assert done.code == 0, done.out + done.err
    assert "left out notes.patch: Upstream's is better." in done.err
    folder = alone.root / name
    assert set(held(folder)) == {
        _CORE,
        "tree/src/lib/npu.sh",
        *("NOTICE", "README.md", "overlay.lock", "pyproject.toml"),
    }
    assert b"LIMIT" not in (folder / _CORE).read_bytes()
    assert settings(folder)["file"] == [{"path": "src/lib/npu.sh", "until": "9"}]
    assert not {"drop", "edit"} & set(settings(folder))


def test_a_symbol_alone_names_what_is_open_of_several_that_are_called_so(alone: Moving) -> None:
    added = b'\n\n@added(why="Helps.")\ndef helper():\n    return 3\n'
    crlf = b"from npu_overlays.markers import added\n" + added
    say(alone, {_CORE: CORE_OVERLAY + added, "tree/src/lib/crlf.py": crlf})
    theirs = {
        path: LIB_FILES[path] + b"\n\ndef helper():\n    return 4\n" for path in ("src/lib/core.py", "src/lib/crlf.py")
    }
    both = f"lib@{alone.commit('both', dict(theirs))[:7]}"
    before = alone.ported("--to", both.partition("@")[2], code=5)
    assert [one["kind"] for one in before["parts"] if one["target"].endswith(":helper")] == ["taken", "taken"]
    refused = alone.port(both, "--continue", "--drop", "helper=Theirs.")
    assert refused.code == 2
    assert "--drop helper: names several parts: src/lib/core.py:helper, src/lib/crlf.py:helper" in refused.err
    one = f"lib@{alone.commit('one', {'src/lib/crlf.py': LIB_FILES['src/lib/crlf.py']})[:7]}"
    assert alone.ported("--to", one.partition("@")[2], "--drop", "helper=Theirs.")["finished"]
    assert b"helper" not in (alone.root / one / _CORE).read_bytes()
    assert (alone.root / one / "tree/src/lib/crlf.py").read_bytes() == crlf


def test_what_applies_is_left_out_by_its_whole_name_only(alone: Moving) -> None:
    name = f"lib@{alone.commit('start', {'src/lib/core.py': CORE.replace(b'def start', b'def begin')})[:7]}"
    alone.ported("--to", name.partition("@")[2], code=5)
    refused = alone.port(name, "--continue", "--accept", "all", "--drop", "scale=Two is right.")
    assert refused.code == 2
    assert "--drop scale: names only parts that still apply: src/lib/core.py:scale" in refused.err
    done = alone.port(name, "--continue", "--accept", "all", "--drop", "src/lib/core.py:scale=Two is right.")
    assert done.code == 0, done.out + done.err
    assert b"def scale" not in (alone.root / name / _CORE).read_bytes()


def test_what_moved_to_another_file_is_stated_there_and_no_more_here(alone: Moving) -> None:
    start, end = CORE.index(b"def scale"), CORE.index(b"def main")
    scale = CORE[start:end]
    files: dict[str, bytes | None] = {
        "src/lib/core.py": CORE.replace(scale, b""),
        "src/lib/scales.py": b'"""Scales."""\n\n\n' + scale.rstrip() + b"\n",
    }
    commit = alone.commit("scales", files)
    found = alone.ported("--to", commit, code=5)
    assert kinds(found) == {"scale": "moved"}
    folder = alone.root / f"lib@{commit[:7]}"
    before = held(folder)
    done = alone.port(folder.name, "--continue", "--accept", "all")
    assert done.code == 0, done.out + done.err
    after = held(folder)
    assert b"scale" not in after[_CORE]
    assert "+    return value * 3" in alone.diff(folder.name)
    # A port that is killed in between has stated it there, and not yet taken it out here.
    (folder / "overlay.lock").unlink()
    (folder / _CORE).write_bytes(before[_CORE])
    (folder / ".port.json").write_bytes(before[".port.json"])
    done = alone.port(folder.name, "--continue", "--accept", "all")
    assert done.code == 0, done.out + done.err
    assert held(folder) == after


_ALIASED = b'''\
"""What changes in the core."""

from npu_overlays.markers import deleted as without
from npu_overlays.markers import edited as changed, upstream as theirs, wrapped as around


class Engine:
    # Asked for by the team, and still
    # under discussion.
    @around(why="Says so.", since="1.0", until="9")  # for now
    def stop(self):
        return theirs(self) + " at once"

    without("obsolete", why="Nobody calls it.", until="9")


# Three is right here.
@changed(
    ("value * 2", "value * 3"),  # not two
    why="Three is right here.",
    until="9",
)
def scale(value): ...
'''
_THERE = b"""\
from npu_overlays.markers import added
from npu_overlays.markers import upstream, wrapped

MARK = added(1, why="Marks.")


@wrapped(why="Twice.")
def twice(value):
    return upstream(value)
"""


def test_what_moved_says_there_all_that_it_said(alone: Moving) -> None:
    """Comments, bounds and all; by the names that the file there has, which imports its markers in two lines."""
    say(alone, {_CORE: _ALIASED})
    start, end = CORE.index(b"class Engine"), CORE.index(b"def main")
    engine = CORE[start:end].replace(b"    obsolete", b"    obsolete")
    there = b'"""Engines."""\n\n\n' + engine.rstrip() + b"\n\n\ndef twice(value):\n    return value * 2\n"
    core = CORE.replace(CORE[start:end], b"from lib.engines import Engine, scale\n\n\n")
    commit = alone.commit("engines", {"src/lib/core.py": core, "src/lib/engines.py": there})
    found = alone.ported("--to", commit, code=5)
    assert kinds(found) == dict.fromkeys(("Engine.stop", "Engine.obsolete", "scale"), "moved"), found
    folder = alone.root / f"lib@{commit[:7]}"
    (folder / "tree/src/lib/engines.py").write_bytes(_THERE)
    done = alone.port(folder.name, "--continue", "--accept", "all")
    assert done.code == 0, done.out + done.err
    assert not (folder / _CORE).exists()
    text = (folder / "tree/src/lib/engines.py").read_text("utf-8")
    assert (
        "    # Asked for by the team, and still\n    # under discussion.\n"
        '    @wrapped(why="Says so.", since="1.0", until="9")  # for now\n'
        '    def stop(self):\n        return upstream(self) + " at once"\n'
    ) in text
    assert '\n    deleted("obsolete", why="Nobody calls it.", until="9")\n' in text
    assert text.count("class Engine:") == text.count("import added") == 1
    assert '# Three is right here.\n@edited(\n    ("value * 2", "value * 3"),  # not two\n' in text
    assert 'return upstream(self) + " at once"' not in alone.diff(folder.name)
    assert '+        return __class__._upstream_stop(self) + " at once"' in alone.diff(folder.name)


def test_members_move_with_their_class(alone: Moving) -> None:
    core = CORE.replace(b"class Engine", b"class Motor").replace(b"Engine()", b"Motor()")
    commit = alone.commit("motor", {"src/lib/core.py": core, "src/lib/__init__.py": b"from lib.core import Motor\n"})
    found = alone.ported("--to", commit, "--accept", "all")
    assert found["finished"], found
    text = (alone.root / f"lib@{commit[:7]}" / _CORE).read_text("utf-8")
    assert (text.count("class "), text.count("class Motor:")) == (1, 1)
    assert text.startswith('"""What changes in the core."""\n\nimport functools\n')
    assert '+        return "stopped at once"' in alone.diff(f"lib@{commit[:7]}")


def test_a_shared_definition_keeps_the_targets_that_stay(alone: Moving) -> None:
    overlay = b'from npu_overlays.markers import replaced\n\nLIMIT = replaced(64, why="More fits.")\n'
    say(alone, {"shared/nothing.py": _SHARED, _CORE: overlay})
    core = changed_core()
    commit = alone.commit("halt", {"src/lib/core.py": core})
    found = alone.ported("--to", commit, code=5)
    assert kinds(found) == {"Engine.stop": "renamed", "Engine.obsolete": "retired"}
    name = f"lib@{commit[:7]}"
    done = alone.port(name, "--continue", "--accept", "all", "--drop", "Engine.obsolete=Nobody calls it.")
    assert done.code == 0, done.out + done.err
    text = (alone.root / name / "shared/nothing.py").read_text("utf-8")
    assert '"src/lib/core.py:Engine.halt",' in text
    assert "obsolete" not in text
    gone = core.replace(b'    def halt(self) -> str:\n        return "stopped"\n', b"")
    last = alone.commit("nothing", {"src/lib/core.py": gone})
    done = alone.port(name, "--to", last, "--drop", "Engine.halt=Gone.")
    assert done.code == 0, done.out + done.err
    assert not (alone.root / f"lib@{last[:7]}" / "shared").exists()


def test_substitutions_are_lengthened_and_taken_out_in_place(alone: Moving) -> None:
    """One that files share is another one for the file in which it occurs twice; what fits stays as it is."""
    more = (
        '\n# More of it.\n[[tool.overlay.edit]]\npaths = ["src/lib/data/settings.yaml", "src/lib/data/more.yaml"]\n'
        'find = "limit: 1"\nreplace = "limit: 64"\nwhy = "More."\n'
    )
    yaml = LIB_FILES["src/lib/data/settings.yaml"]
    first = alone.commit("more", {"src/lib/data/more.yaml": yaml})
    assert alone.ported("--to", first)["finished"]
    base = Moving(sample=alone.sample, clone=alone.clone, name=f"lib@{first[:7]}")
    say(base, {}, config=more)
    files: dict[str, bytes | None] = {"src/lib/data/settings.yaml": yaml + b"reward:\nlimit: 1\n"}
    files |= {"src/lib/data/more.yaml": yaml.replace(b"limit: 1", b"limit: 64")}
    commit = base.commit("reward", files)
    found = base.ported("--to", commit, "--accept", "all", "--accept", "absorbed")
    assert found["finished"], found
    folder = base.root / f"lib@{commit[:7]}"
    first_edit, *rest = settings(folder)["edit"]
    assert first_edit == tomllib.loads(LIB_EDIT)["tool"]["overlay"]["edit"][0]
    assert rest == [
        {
            "paths": ["src/lib/data/settings.yaml"],
            "find": "searchpath: pkg://lib.config\nlimit: 1",
            "replace": "searchpath: pkg://lib.config\nlimit: 64",
            "why": "More.",
        }
    ]
    assert "# More of it.\n[[tool.overlay.edit]]" in (folder / "pyproject.toml").read_text("utf-8")
    assert "+limit: 64\n reward:\n limit: 1\n" in base.diff(folder.name).replace("-limit: 1\n", "")


def test_what_cannot_be_done_is_said_at_once_and_nothing_is_written(alone: Moving) -> None:
    """An operation that shares its line with another, and one whose new place is taken by something else."""
    overlay = CORE_OVERLAY.replace(
        b'"obsolete", why="Nobody calls it.")', b'"obsolete", why="N."); deleted("speed", why="S.")'
    )
    say(alone, {_CORE: overlay})
    start, end = CORE.index(b"def scale"), CORE.index(b"def main")
    core = changed_core().replace(b"value * 3", b"value * 2").replace(CORE[start:end], b"")
    scales = b'"""Scales."""\n\n\n' + CORE[start:end].rstrip() + b"\n"
    commit = alone.commit("much", {"src/lib/core.py": core, "src/lib/scales.py": scales})
    name = f"lib@{commit[:7]}"
    found = alone.ported("--to", commit, code=5)
    assert kinds(found)["scale"] == "moved"
    (alone.root / name / "tree/src/lib/scales.py").write_text("# mine\n", "utf-8")
    before = held(alone.root / name)
    done = alone.port(name, "--continue", "--accept", "all")
    assert done.code == 2, done.out + done.err
    told = "cannot be deleted automatically: other operations of its file would change with it"
    assert f"core.py:24: {told}\n    in src/lib/core.py:Engine.obsolete\n" in done.err
    assert "core.py:scale: cannot be moved automatically" in done.err
    assert held(alone.root / name) == before


def test_a_layers_substitution_is_dropped_beside_one_of_the_pins_that_stays(alone: Moving) -> None:
    """Of what the pin says itself under a name that is dropped, what applies stays, and once."""
    edit = '[[edit]]\npaths = ["src/lib/data/settings.yaml"]\nfind = "limit: 1"\nreplace = "limit: 64"\nwhy = "More."\n'
    write_layer(alone.root / "lib", project="lib", files={}, config=f"\n{edit}")
    alone.sample.environment.ok("lock", alone.name)
    yaml = LIB_FILES["src/lib/data/settings.yaml"].replace(b"limit: 1", b"limit: 2")
    commit = alone.commit("limit", {"src/lib/data/settings.yaml": yaml})
    assert alone.ported("--to", commit, "--drop", "src/lib/data/settings.yaml=Two.")["finished"]
    found = settings(alone.root / f"lib@{commit[:7]}")
    assert [one["why"] for one in found["drop"]] == ["Two."]
    assert len(found["edit"]) == 1
    assert "+searchpath: pkg://lib.config" in alone.diff(f"lib@{commit[:7]}")
