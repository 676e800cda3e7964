"""What is written may be read by others, and changed by its owner alone, whatever the umask is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from publish.website.conftest import write_project
from support.marks import rarely

from .sample import Sample

pytestmark = pytest.mark.slow


_SCRIPT = 'umask "$1"; shift; exec "$@"'


def modes(folder: Path) -> set[tuple[str, int]]:
    """Return which kinds of files and folders lie below a folder, without git's own objects, and their modes."""
    found = [path for path in folder.rglob("*") if ".git" not in path.relative_to(folder).parts[:-1]]
    return {("folder" if path.is_dir() else path.suffix, path.stat().st_mode & 0o777) for path in found}


# The first lets others write what they may not read: whoever only adds what a mode lacks, or only takes, is found.
@pytest.mark.parametrize("umask", ["055", *rarely("077", "022", "002")])
def test_all_outputs_have_the_same_modes(own_upstream: Sample, tmp_path: Path, umask: str) -> None:
    sample, out = own_upstream, tmp_path / "all" / "made"
    commit = sample.lib.commit({"README.md": b"# newer\n"})
    documents = write_project(tmp_path, {"index.md": "# One\n", "index.zh-CN.md": "# 一\n"})
    where = ("--overlays", sample.overlays)

    def run(*arguments: str | Path) -> None:
        command = (sys.executable, "-m", "npu_overlays", *arguments)
        sample.environment.succeed("bash", "-c", _SCRIPT, "bash", umask, *command)

    options = ("--release", "1.2.3", "--suffix", "acme", "--package", "lib", "--not-built", "tests")
    run("init", "lib", out / "init" / "lib@1.2.3", *options)
    run("lock", out / "init" / "lib@1.2.3")
    run("build", *where, "--out", out / "wheels", "--source", "git")
    run("sdist", sample.lib_name, *where, "--out", out / "sdists", "--source", "git")
    run("index", out / "wheels", out / "sdists", "--out", out / "index")
    run("summary", *(out / "wheels").glob("lib_npu-*.whl"), "--html", out / "html" / "page.html")
    run("checkout", sample.lib_name, out / "checkout", *where)
    run("export", sample.lib_name, "--out", out / "patches", *where)
    run("site", out / "wheels", "--documents", documents, "--out", out / "site", *where)
    run("port", sample.lib_name, "--to", commit, "--upstream", f"lib={sample.lib.path}", *where)
    run("revise", "--all", "--why", "It is new.", *where)
    found = modes(tmp_path / "all") | modes(sample.overlays / f"lib@{commit[:7]}")
    assert {mode for kind, mode in found if kind == "folder"} == {0o755}
    assert {(kind, mode) for kind, mode in found if kind != "folder" and mode != 0o644} == {(".sh", 0o755)}
    assert {".whl", ".gz", ".json", ".html", ".txt", ".py", ".toml", ".lock", ".patch", ".metadata"} <= {
        kind for kind, _ in found
    }
    for name in ("revisions.toml", "pyproject.toml"):
        assert (sample.lib_overlay / name).stat().st_mode & 0o777 == 0o644
