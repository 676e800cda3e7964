"""Finding every summary package on a path, as Python itself would."""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from npu_summary import installed

from .conftest import SOURCE
from .samples import distribution, transformers, verl

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import SummarySite


def packages(*path: Path | str) -> list[str]:
    return [place.package for place in installed.places(map(str, path))]


def zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in sorted(folder.rglob("*")):
            archive.write(entry, entry.relative_to(folder).as_posix())
    return target


def test_verl_comes_first_then_transformers_then_others_by_name(site: SummarySite) -> None:
    for sample in (distribution("zeta", []), transformers(), distribution("alpha", []), verl()):
        site.install(sample)
    found, problems = installed.load(installed.places([str(site.folder)]))
    names = [changes["upstream"]["project"] for changes in found]
    assert names == ["verl", "transformers", "alpha", "zeta"]
    assert problems == []


def test_absent_folders_plain_files_and_the_current_folder_are_all_fine(
    site: SummarySite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install(verl())
    (tmp_path / "plain").write_text("not a zip file", encoding="utf-8")
    (site.folder / "circle").symlink_to("circle")
    monkeypatch.chdir(site.folder)
    assert packages(tmp_path / "absent", tmp_path / "plain", tmp_path, "") == ["verl_npu_summary"]


def test_folder_left_by_an_uninstall_is_nothing(site: SummarySite) -> None:
    (site.folder / "verl_npu_summary" / "__pycache__").mkdir(parents=True)
    (site.folder / "other_npu_summary").write_text("a file", encoding="utf-8")
    assert packages(site.folder) == []


def test_package_without_its_data_is_a_problem(site: SummarySite) -> None:
    (site.install(verl()) / "changes.json").unlink()
    found, problems = installed.load(installed.places([str(site.folder)]))
    assert found == []
    assert len(problems) == 1
    assert problems[0].endswith(
        "changes.json: No such file or directory; repair: pip install --force-reinstall --no-deps verl-npu"
    )


def test_first_on_the_path_wins_and_knows_what_it_shadows(site: SummarySite, tmp_path: Path) -> None:
    other = type(site)(tmp_path / "other")
    site.install(verl())
    other.install({**verl(), "companion": "not this one"})
    (place,) = installed.places([str(site.folder), str(other.folder)])
    assert place.shadows == [str(other.folder / "verl_npu_summary")]
    assert installed.load([place])[0] == [verl()]
    (swapped,) = installed.places([str(other.folder), str(site.folder)])
    assert swapped.root == str(other.folder)


def test_same_folder_by_two_names_shadows_nothing(site: SummarySite, tmp_path: Path) -> None:
    site.install(verl())
    (tmp_path / "lib64").symlink_to(site.folder, target_is_directory=True)
    (place,) = installed.places([str(site.folder), str(tmp_path / "lib64"), str(site.folder)])
    assert place.shadows == []


def test_zip_files_and_wheels_are_read_like_folders(site: SummarySite, tmp_path: Path) -> None:
    site.install(verl())
    wheel = zipped(site.folder, tmp_path / "verl_npu-1.0-py3-none-any.whl")
    found = installed.places([str(wheel)])
    assert [place.package for place in found] == ["verl_npu_summary"]
    assert installed.load(found)[0] == [verl()]
    assert found[0].read("changes.diff") == (site.folder / "verl_npu_summary" / "changes.diff").read_bytes()
    with pytest.raises(OSError, match=r"absent\.txt"):
        found[0].read("absent.txt")


def test_damaged_zip_is_a_problem_of_its_package_alone(site: SummarySite, tmp_path: Path) -> None:
    site.install(verl())
    archive = zipped(site.folder, tmp_path / "site.zip")
    data = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        info = opened.getinfo("verl_npu_summary/changes.json")
    start = info.header_offset + 30 + len(info.filename) + 20
    data[start : start + 40] = b"\xff" * 40
    archive.write_bytes(data)
    site.install(transformers())
    found, problems = installed.load(installed.places([str(archive), str(site.folder)]))
    assert [changes["upstream"]["project"] for changes in found] == ["transformers"]
    assert len(problems) == 1
    assert "site.zip/verl_npu_summary/changes.json: " in problems[0]


@pytest.mark.parametrize("name", ["verl", "verl-npu", "VERL_NPU", "verl.npu", "Verl--npu"])
def test_distribution_is_chosen_by_any_spelling_pip_accepts(site: SummarySite, name: str) -> None:
    for sample in (verl(), transformers()):
        site.install(sample)
    chosen, unknown = installed.select(installed.places([str(site.folder)]), [name])
    assert [place.distribution for place in chosen] == ["verl-npu"]
    assert unknown == []


def test_unknown_names_are_returned_and_no_name_means_all(site: SummarySite) -> None:
    for sample in (verl(), transformers()):
        site.install(sample)
    places = installed.places([str(site.folder)])
    assert installed.select(places, ["verl", "peft", "npu"])[1] == ["peft", "npu"]
    assert installed.select(places, []) == (places, [])


def test_unreadable_data_hides_no_other(site: SummarySite) -> None:
    (site.install(verl()) / "changes.json").write_bytes(b"{")
    site.install(transformers())
    found, problems = installed.load(installed.places([str(site.folder)]))
    assert found == [transformers()]
    assert "verl_npu_summary" in problems[0]
    assert "not JSON" in problems[0]


def is_for_checkers(node: ast.AST) -> bool:
    """Return whether a statement is one that Python never runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_package_travels_alone() -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    assert len(modules) >= 9
    for module in modules:
        depth = len(module.relative_to(SOURCE).parts)
        tree = ast.parse(module.read_bytes())
        read_by_checkers = {inner for node in ast.walk(tree) if is_for_checkers(node) for inner in ast.walk(node)}
        for node in set(ast.walk(tree)) - read_by_checkers:
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level <= depth, module
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
                assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names, module
        assert "npu_overlays" not in module.read_text(encoding="utf-8"), module


def test_data_survives_the_way_through_a_file(site: SummarySite) -> None:
    target = site.install(verl())
    assert json.loads((target / "changes.json").read_bytes()) == verl()
