"""Which overlays a change touches, in a real repository."""

from __future__ import annotations

import json
import shutil

import pytest

from support.marks import rarely
from support.overlays import edit

from .conftest import ALONE, APP, EVERY, LIB, OTHER, OverlayRepository

PATHS: dict[str, set[str]] = {
    # A pin's own folder; the verl of a pair reads its transformers, and not the other way round.
    f"overlays/{APP}/tree/thing/new.py": {APP},
    f"overlays/{LIB}/tree/thing/new.py": {LIB, APP},
    f"overlays/{OTHER}/NOTICE": {OTHER},
    # A layer: all pins on it, and who reads one of them.
    "overlays/app/tree/thing/shared.py": {APP},
    "overlays/lib/tree/thing/shared.py": {LIB, OTHER, APP},
    # What people read, and what only looks like it: it is shipped.
    f"overlays/{LIB}/README.md": set(),
    "overlays/lib/README.md": set(),
    "overlays/README.md": set(),
    f"overlays/{ALONE}/tree/thing/notes.md": {ALONE},
    "README.md": set(),
    "docs/page.md": set(),
    "docs/picture.svg": set(),
    "stacks/README.md": set(),
    # What may concern all.
    "Makefile": EVERY,
    ".github/workflows/ci.yml": EVERY,
    "build_tools/npu_overlays/cli.py": EVERY,
    "tests/test_something.py": EVERY,
    "stacks/knowledge/settings.json": EVERY,
    "overlays/a-new-layer/layer.toml": EVERY,
    "a file with blanks, and é": EVERY,
}


def test_a_changed_file_touches(repository: OverlayRepository) -> None:
    assert repository.touched() == set()
    for path, expected in PATHS.items():
        repository.write(path)
        assert repository.touched() == expected, path
        repository.git("add", "--all")
        repository.git("reset", "--quiet", "--hard")


def test_it_makes_no_difference_whether_it_is_committed(repository: OverlayRepository) -> None:
    before = repository.git("rev-parse", "HEAD")
    repository.write(f"overlays/{LIB}/tree/thing/new.py")
    assert repository.touched() == {LIB, APP}
    repository.commit()
    assert repository.touched() == set()
    assert repository.touched(before) == {LIB, APP}


def test_what_git_ignores_touches_nothing(repository: OverlayRepository) -> None:
    repository.write(".gitignore", "/wheels/\n")
    repository.commit()
    repository.write("wheels/verl.whl")
    assert repository.touched() == set()


def test_a_stack_touches_what_it_names_and_what_it_named(repository: OverlayRepository) -> None:
    repository.write("stacks/pair.json", json.dumps({"overlays": [LIB, APP], "default": True, "python": "3.12"}))
    assert repository.touched() == {LIB, APP}
    repository.write("stacks/pair.json", json.dumps({"overlays": [LIB], "default": True}))
    assert repository.touched() == {LIB, APP}
    (repository.folder / "stacks" / "rest.json").unlink()
    assert repository.touched() == {LIB, APP, OTHER}


def test_a_stack_that_could_not_be_read_before_touches_all(repository: OverlayRepository) -> None:
    repository.write("stacks/rest.json", "no JSON")
    broken = repository.commit()
    repository.write("stacks/rest.json", json.dumps({"overlays": [OTHER]}))
    assert repository.touched(broken) == EVERY


def test_a_pin_that_is_gone_touches_no_other(repository: OverlayRepository) -> None:
    shutil.rmtree(repository.folder / "overlays" / ALONE)
    assert repository.touched() == set()


def test_a_layer_that_is_gone_touches_all(repository: OverlayRepository) -> None:
    shutil.rmtree(repository.folder / "overlays" / "lib")
    assert repository.touched() == EVERY


def test_what_the_other_branch_did_meanwhile_does_not_count(repository: OverlayRepository) -> None:
    repository.git("switch", "--quiet", "--create", "topic")
    repository.write(f"overlays/{ALONE}/NOTICE")
    repository.commit()
    repository.git("switch", "--quiet", "main")
    repository.write("Makefile")
    repository.commit()
    repository.git("switch", "--quiet", "topic")
    assert repository.touched("main") == {ALONE}


def test_configuration_of_git_and_the_folder_make_no_difference(repository: OverlayRepository) -> None:
    for setting in ("diff.relative=true", "diff.noprefix=true", "diff.renames=copies", "core.quotePath=true"):
        repository.git("config", *setting.split("="))
    repository.git("mv", f"overlays/{APP}/LICENSE", f"overlays/{ALONE}/tree/thing/LICENCE-é")
    done = repository.environment.ok(
        "matrix", "--overlays", ".", "--changed-since", "HEAD", cwd=repository.folder / "overlays"
    )
    assert {cell["overlay"] for cell in done.json()["include"]} == {APP, ALONE}


@pytest.mark.parametrize("unknown", ["0" * 40, *rarely("f" * 40)])
def test_a_commit_that_a_forced_push_took_away_touches_all_and_it_is_said(
    repository: OverlayRepository, unknown: str
) -> None:
    done = repository.environment.ok("matrix", "--changed-since", unknown, cwd=repository.folder)
    assert {cell["overlay"] for cell in done.json()["include"]} == EVERY
    assert f"{unknown} is no commit of this clone" in done.err


@pytest.mark.parametrize("unknown", ["no-such-branch", "--output=x"])
def test_a_revision_that_is_not_there_is_refused(repository: OverlayRepository, unknown: str) -> None:
    done = repository.environment.cli("matrix", f"--changed-since={unknown}", cwd=repository.folder)
    assert done.code == 2
    assert f"there is no revision `{unknown}`" in done.err
    assert "fix: " in done.err


def test_a_clone_that_lacks_the_history_between_is_told_so(repository: OverlayRepository) -> None:
    repository.git("switch", "--quiet", "--orphan", "elsewhere")
    repository.git("commit", "--quiet", "--allow-empty", "--message", "no ancestor")
    repository.git("switch", "--quiet", "main")
    done = repository.environment.cli("matrix", "--changed-since", "elsewhere", cwd=repository.folder)
    assert done.code == 2
    assert "fetch-depth: 0" in done.err


def test_outside_of_a_repository_it_is_refused(repository: OverlayRepository) -> None:
    shutil.rmtree(repository.folder / ".git")
    done = repository.environment.cli("matrix", "--changed-since", "main", cwd=repository.folder)
    assert done.code == 2
    assert "lies in no work tree of git" in done.err


def test_cells_keep_their_names_and_their_order(repository: OverlayRepository) -> None:
    names = [cell["name"] for cell in repository.environment.ok("matrix", cwd=repository.folder).json()["include"]]
    repository.write("overlays/lib/tree/thing/shared.py")
    done = repository.environment.ok("matrix", "--changed-since", "HEAD", cwd=repository.folder)
    left = [cell["name"] for cell in done.json()["include"]]
    assert left == [name for name in names if not name.startswith(ALONE)]


def test_a_lock_of_another_pin_is_still_refused(repository: OverlayRepository) -> None:
    edit(repository.folder / "overlays" / APP / "overlay.lock", f'commit = "{"1" * 7}', f'commit = "{"9" * 7}')
    done = repository.environment.cli("matrix", cwd=repository.folder)
    assert done.code == 3
    assert f"npu-overlays lock {APP}" in done.err
