"""Files of an overlay that cannot be used, and layers that do not fit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.overlays import edit, write_layer, write_overlay

from .refusals import build, config, refused
from .sample import CORE, Sample


def test_symbolic_links_in_an_overlay_are_refused(sample: Sample) -> None:
    (sample.lib_overlay / "tree/src/lib/link.py").symlink_to("/etc/passwd")
    (sample.lib_overlay / "tree/src/lib/folder").symlink_to("/etc")
    (sample.lib_overlay / "patches/link.patch").symlink_to("notes.patch")
    refused(
        sample,
        build(sample),
        5,
        "tree/src/lib/link.py: is not a regular file",
        "tree/src/lib/folder: is not a regular file",
        "patches/link.patch: is not a regular file",
    )


@pytest.mark.parametrize("path", ["../outside.txt", "/outside.txt", "src/../../outside.txt", ".git/hooks/x"])
def test_a_patch_that_leads_outside_is_refused(sample: Sample, path: str) -> None:
    text = (sample.lib_overlay / "patches/notes.patch").read_text().replace("src/lib/notes.txt", path)
    (sample.lib_overlay / "patches/notes.patch").write_text(text)
    refused(sample, build(sample), 5, "notes.patch", "not a plain path inside the repository")
    assert not (sample.folder.parent / "outside.txt").exists()


def test_what_would_not_be_shipped_is_refused(sample: Sample) -> None:
    tree = sample.lib_overlay / "tree"
    (tree / "other").mkdir()
    (tree / "other/new.py").write_text("x = 1\n")
    (tree / "tests").mkdir()
    (tree / "tests/__init__.py").write_text(
        'from npu_overlays.markers import added\n\nX = added(1, why="For nothing.")\n'
    )
    edit(config(sample), 'paths = ["src/lib/data/settings.yaml"]', 'paths = ["README.md"]')
    text = (sample.lib_overlay / "patches/notes.patch").read_text().replace("src/lib/notes.txt", "packaging/METADATA")
    (sample.lib_overlay / "patches/meta.patch").write_text(text)
    refused(
        sample,
        build(sample),
        5,
        "is not shipped: other/new.py",
        "is not shipped: tests/__init__.py",
        "is not shipped: README.md",
        "is not shipped: packaging/METADATA",
    )


def test_files_of_the_wrong_kind_are_refused(sample: Sample) -> None:
    (sample.lib_overlay / "patches/readme.txt").write_text("x")
    (sample.lib_overlay / "shared").mkdir()
    (sample.lib_overlay / "shared/data.yaml").write_text("x: 1")
    refused(sample, build(sample), 5, "patches/ holds *.patch files", "shared/ holds Python definitions")


def another_commit(sample: Sample, files: dict[str, bytes], *, more: str = "") -> Path:
    """Write a pin on a further, empty commit of lib."""
    commit = sample.lib.commit({})
    sample.lib.git("reset", "--hard", "--quiet", "HEAD~1")
    return write_overlay(
        sample.overlays,
        project="lib",
        commit=commit,
        repository=sample.lib.url,
        packages=["src/lib"],
        files=files,
        overlay=more,
    )


def as_layer(sample: Sample) -> None:
    """Make what is the own of lib's pin a layer, on which every pin of lib is then."""
    files: dict[str, bytes] = {}
    for folder in ("tree", "patches"):
        for file in (sample.lib_overlay / folder).rglob("*"):
            if file.is_file():
                files[str(file.relative_to(sample.lib_overlay))] = file.read_bytes()
    text = config(sample).read_text()
    start = text.index("[[tool.overlay.edit]]")
    write_layer(sample.overlays / "lib", project="lib", files=files, config=text[start:].replace("tool.overlay.", ""))
    config(sample).write_text(text[:start])
    (sample.overlays / "lib/tree/src/lib/npu.sh").chmod(0o755)
    for folder in ("tree", "patches"):
        shutil.rmtree(sample.lib_overlay / folder)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ('"elsewhere"', "`elsewhere` is no layer: there is no such folder"),
        ('"../nowhere/lib"', "`../nowhere/lib` is no layer: there is no such folder"),
        ('"lib", "../lib"', "are both called lib fix: tell them apart: name ="),
        ('{ distribution = "no-such-layers" }', "no distribution `no-such-layers` is installed"),
        ('{ distribution = "filelock" }', "`filelock` lists no layer.toml"),
        ('{ folder = "lib" }', "does not name a layer"),
        ("3", "3 does not name a layer"),
        ('"app"', "is a layer of app, not of lib"),
    ],
)
def test_layers_that_cannot_be_had_are_refused(sample: Sample, layers: str, message: str) -> None:
    as_layer(sample)
    write_layer(sample.overlays / "app", project="app", files={})
    text = config(sample).read_text()
    config(sample).write_text(text.replace("revision = 1\n", f"revision = 1\nlayers = [{layers}]\n", 1))
    refused(sample, build(sample), 3, message)


def test_every_mistake_of_a_layer_is_told_at_once_under_its_own_name(sample: Sample) -> None:
    as_layer(sample)
    file = sample.overlays / "lib" / "layer.toml"
    file.write_text(
        'project = "lib"\nsuffix = "N"\npackages = ["/x"]\ndependencies = ["=="]\ncommit = "x"\n'
        '[upstream]\nrepository = "https://me:pw@host/x"\n[[file]]\npath = "a.txt"\n[[file]]\npath = "b"\nsince = "x"\n'
        '[[edit]]\npaths = ["a.yaml"]\nfind = "a"\nreplace = "b"\nwhy = "w"\nsince = "2"\nuntil = "2"\n'
    )
    refused(
        sample,
        build(sample),
        3,
        "layer.toml:2: suffix: `N` is not one word",
        "layer.toml:3: packages: `/x` is not a plain path",
        "layer.toml:4: dependencies: `==` is not a requirement",
        "layer.toml:5: commit: unknown key",
        "layer.toml:7: upstream.repository: holds a user name or password",
        "layer.toml:8: file[1].since: missing, and so are until and accept",
        "layer.toml:12: file[2].since: `x` is not a version",
        "layer.toml:19: edit[1].until: no version is at least 2 and before 2",
    )


def test_what_a_layer_says_too_tells_how_to_leave_it_out(own_upstream: Sample) -> None:
    sample = own_upstream
    as_layer(sample)
    again = {
        "tree/src/lib/core.py": (
            b'from npu_overlays.markers import replaced\n\n\n@replaced(why="Again.")\ndef scale(value):\n    return 4\n'
        ),
        "tree/src/lib/npu.py": b'"""Again."""\n',
    }
    newer = another_commit(sample, again)
    done = sample.environment.cli("lock", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "tree/src/lib/npu.py: adds the same file as lib/tree", 'name = "src/lib/npu.py" and why')
    drop = '[[tool.overlay.drop]]\nname = "src/lib/npu.py"\nwhy = "Said again."\n'
    edit(newer / "pyproject.toml", "[tool.overlay.upstream]", f"{drop}[tool.overlay.upstream]")
    done = sample.environment.cli("lock", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "second operation on `scale`", 'name = "src/lib/core.py:scale" and why')
    other = drop.replace("src/lib/npu.py", "src/lib/core.py:scale")
    edit(newer / "pyproject.toml", drop, drop + other)
    sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)
    shown = sample.environment.ok("show", newer.name, "--overlays", sample.overlays).out
    assert "left out of the layers below" in shown
    assert "src/lib/core.py:scale" in shown
    assert "Said again." in shown


def test_locking_tells_which_definitions_upstream_changed_and_the_lock_keeps_it(own_upstream: Sample) -> None:
    sample = own_upstream
    as_layer(sample)
    sample.environment.ok("lock", sample.lib_name, "--overlays", sample.overlays)
    moved = CORE.replace(b'return "stopped"', b'return "halted"').replace(b"value * 2", b"int(value * 2)")
    sample.lib.commit({"src/lib/core.py": moved.replace(b'"upstream" * times', b'times * "upstream"')})
    newer = another_commit(sample, {})
    since = f"since {sample.lib_name} upstream changed its body"
    for _ in range(2):
        done = sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)
        for symbol in ("replaced Engine.stop", "edited scale", "wrapped Engine.start"):
            assert f"look at the {symbol.replace(' ', ' `src/lib/core.py:')}`: {since}" in done.err
        assert done.err.count("look at") == 3
    for command in (("lock", "--check"), ("check",)):
        assert "upstream changed" not in sample.environment.ok(*command, newer.name, "--overlays", sample.overlays).err
    lock = newer / "overlay.lock"
    kept = lock.read_text()
    lock.write_text(kept[: kept.index("told = [")] + kept[kept.index("\n]\n", kept.index("told = [")) + 3 :])
    done = sample.environment.ok("check", newer.name, "--overlays", sample.overlays)
    assert "3 notices on what upstream changed" in done.err
    done = sample.environment.cli("lock", "--check", newer.name, "--overlays", sample.overlays)
    assert (done.code, done.err.count("look at")) == (3, 3)
    edit(sample.lib_overlay / "overlay.lock", "lock-version = 4", "lock-version = 1")
    done = sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)
    assert f"run `npu-overlays lock {sample.lib_name}`, then `npu-overlays lock {newer.name}`" in done.err


def test_locking_prints_notices_of_one_cause_in_one_unless_each_is_wanted(own_upstream: Sample) -> None:
    sample = own_upstream
    as_layer(sample)
    sample.environment.ok("lock", sample.lib_name, "--overlays", sample.overlays)
    extra = b"def forgotten():\n    return 0\n"
    sample.lib.commit(
        {"src/lib/core.py": CORE.replace(b'return "stopped"', b'return "halted"'), "src/lib/extra.py": extra}
    )
    newer = another_commit(sample, {})
    names = ("`src/lib/core.py:Engine.stop`", "`src/lib/extra.py:forgotten`")
    done = sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)
    assert f"look at the replaced {' and '.join(names)}: since" in done.err
    done = sample.environment.ok("lock", newer.name, "--overlays", sample.overlays, "--verbose")
    assert all(f"look at the replaced {name}: since" in done.err for name in names)


def test_what_an_addition_overrides_is_told_by_lock_kept_by_it_and_said_by_the_summary(own_upstream: Sample) -> None:
    sample = own_upstream
    kin = b"class Base:\n    def run(self): pass\nclass Heir(Base):\n    x = 1\ndef f():\n    Heir.run = print\n"
    sample.lib.commit({"src/lib/kin.py": kin})
    overlay = b"from npu_overlays.markers import added\nclass Heir:\n    @added(why='w')\n    def run(self): pass\n"
    newer = another_commit(sample, {"tree/src/lib/kin.py": overlay})
    said = "overrides `Base.run` of src/lib/kin.py"
    told = sample.environment.ok("lock", newer.name, "--overlays", sample.overlays).err
    assert f"the added `Heir.run` {said}" in told
    assert "upstream gives `Heir.run` another value in src/lib/kin.py:f" in told
    assert f'affects = "{said}"' in (newer / "overlay.lock").read_text()
    done = sample.environment.ok("check", newer.name, "--json", "--overlays", sample.overlays)
    assert done.err == ""
    (record,) = done.json()
    assert record["files"][0]["class_changes"][0]["changes"][0]["affects"] == said


def test_a_drop_that_drops_nothing_is_refused(own_upstream: Sample) -> None:
    sample = own_upstream
    as_layer(sample)
    absent = '[[tool.overlay.drop]]\nname = "src/lib/core.py:absent"\nwhy = "w"\n'
    newer = another_commit(sample, {}, more=absent)
    done = sample.environment.cli("show", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "drop[1]: `src/lib/core.py:absent` names nothing in the layers below")
