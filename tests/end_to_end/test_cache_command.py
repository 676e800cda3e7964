"""The command that lists and gives back what is kept of upstream."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.environment import Environment
from support.overlays import write_stacks

from .sample import Sample


@pytest.fixture
def sample(locked: Sample, tmp_path: Path) -> Sample:
    """Return a copy of the locked sample, of whose upstreams nothing was fetched yet."""
    return locked.copy(tmp_path, fetched=False)


@pytest.mark.slow
def test_what_is_kept_is_listed_and_what_nobody_needs_is_given_back(sample: Sample) -> None:
    environment, cache = sample.environment, sample.environment.cache
    assert environment.ok("cache").out == f"{cache}: 0 sources kept, 0.0 MB\n"
    environment.ok("lock", "--all")
    environment.ok("build", sample.lib_name)
    lib, app = (upstream.git("rev-parse", "main") for upstream in (sample.lib, sample.app))
    listed = environment.ok("cache", "--json").json()
    kept = {(one["kind"], one["identity"]): one for one in listed}
    assert {key: one["overlays"] for key, one in kept.items() if key[0] == "commit"} == {
        ("commit", lib): [sample.lib_name],
        ("commit", app): [sample.app_name],
    }
    assert kept["deflated", lib]["overlays"] == [sample.lib_name]
    (archive,) = (one for one in listed if one["kind"] == "archive")
    assert (archive["overlays"], archive["size"]) == ([sample.lib_name], Path(archive["path"]).stat().st_size)
    assert archive["identity"] not in environment.ok("cache").out  # too wide for a screen
    mine = [cache / "commits" / "notes.git", cache / "archives" / "wheel.whl", cache / "mine" / f"{'0' * 40}.git"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")
    shutil.rmtree(sample.app_overlay)
    write_stacks(sample.overlays, "pair", {"pair": [sample.lib_name]})
    out = environment.ok("cache", "--prune").out.splitlines()
    assert [line.split()[2:] for line in out[1:-1]] == [["commit", app[:12]]]
    assert "1 source removed" in out[-1]
    assert {one["identity"] for one in environment.ok("cache", "--json").json()} == {lib, archive["identity"]}
    environment.ok("cache", "--clear", "--overlays", "nowhere")
    assert environment.ok("cache", "--json").json() == []
    assert [path.read_bytes() for path in mine] == [b"mine"] * 3
    environment.ok("check", sample.lib_name)


@pytest.mark.slow
def test_nothing_is_given_back_where_it_is_not_known_who_needs_it(sample: Sample) -> None:
    environment = sample.environment
    environment.ok("lock", sample.lib_name)
    before = environment.ok("cache", "--json").json()
    assert len(before) == 2
    done = environment.cli("cache", "--prune", "--overlays", "nowhere")
    assert (done.code, "there is no such folder of overlays" in done.err) == (3, True)
    (sample.app_overlay / "pyproject.toml").write_text("[tool.overlay]\n")
    assert environment.cli("cache", "--prune").code == 3
    done = environment.cli("cache", "--prune", "--clear")
    assert (done.code, "not allowed with argument" in done.err) == (2, True)
    assert environment.ok("cache", "--json", "--overlays", "nowhere").json() == [
        {**one, "overlays": []} for one in before
    ]


def test_what_others_could_have_put_there_is_not_removed(environment: Environment) -> None:
    folder = environment.cache / "commits"
    folder.mkdir(parents=True)
    elsewhere = environment.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    (folder / f"{'0' * 40}.git").symlink_to(elsewhere)
    done = environment.cli("cache", "--clear")
    assert (done.code, "is a symbolic link or no file" in done.err) == (6, True)
    assert (elsewhere / "precious").exists()
