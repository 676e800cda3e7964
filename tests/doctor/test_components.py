"""Versions against the published tables and against a stack: three levels, from data."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from npu_doctor import knowledge
from npu_doctor.context import Context
from npu_doctor.examination import examine
from npu_doctor.jsonfiles import DataError
from npu_doctor.stacks import CPU_INDEX

from .machine import MINDSPEED, TOOLKIT, Machine, changes, clone, write

if TYPE_CHECKING:
    from pathlib import Path

    from npu_doctor.model import Row
    from npu_doctor.report import Diagnosis

INFO = f"{TOOLKIT}/aarch64-linux/ascend_toolkit_install.info"


def row(report: Diagnosis, component: str, check: str = "published.tables") -> Row:
    found = [one for one in report.rows if one.component == component and one.check == check]
    assert len(found) == 1, report.rows
    return found[0]


@pytest.mark.parametrize(
    ("cann", "level"),
    [
        ("8.3.RC1", "matched"),
        ("8.2.RC1", "compatible"),
        ("8.0.RC2", "compatible"),
        ("8.5.0", "broken"),
        ("7.0.0", "broken"),
    ],
)
def test_cann_has_three_levels_for_a_torch_npu(machine: Machine, cann: str, level: str) -> None:
    machine.file(INFO, f"version={cann}\n")
    found = row(machine.report(), "cann with torch_npu 2.7.1")
    assert (found.level, found.found) == (level, cann)
    assert found.see
    assert bool(found.fix) is (level != "matched")


def test_the_release_note_is_named_where_it_makes_the_difference(machine: Machine) -> None:
    machine.file(INFO, "version=8.2.RC1\n")
    assert row(machine.report(), "cann with torch_npu 2.7.1").see == (
        "release note of torch_npu 7.2.0 (CANN 8.0.RC2 to 8.3.RC1)",
    )


def test_a_torch_npu_without_a_published_row_is_unknown(machine: Machine) -> None:
    machine.install_torch_npu("2.7.99")
    report = machine.report()
    assert row(report, "torch_npu").level == "unknown"
    assert "--data" in row(report, "torch_npu").fix


def test_a_user_can_add_a_row_without_touching_code(machine: Machine, tmp_path: Path) -> None:
    machine.install_torch_npu("2.7.99")
    more = tmp_path / "more.json"
    table = {"name": "own", "source": "our lab", "key": "torch_npu", "columns": ["torch_npu", "cann"]}
    more.write_text(json.dumps({"schema": 1, "tables": [{**table, "rows": [["2.7.99", "8.3.RC1"]]}]}))
    report = examine(Context(system=machine.system(), knowledge=knowledge.load([str(more)]), imports=False))
    found = row(report, "cann with torch_npu 2.7.99")
    assert (found.level, found.see) == ("matched", ("our lab",))


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "not an object"),
        ('{"schema": 2}', "`schema` 1"),
        ('{"schema": 1, "tables": [{}]}', "tables[0].columns: is missing"),
        ('{"schema": 1, "tabels": []}', "tabels: is not known; did you mean `tables`?"),
        ('{"schema": true}', "schema: must be a number"),
        ('{"schema": 1, "tables": 1, "ranges": [1]}', "ranges[0]: must be an object"),
        ('{"schema": 1, "tables": 1, "ranges": [1]}', "tables: must be a list"),
        (
            '{"schema": 1, "ranges": [{"when": {"a": "1"}, "component": "b", "allow": "", "source": ""}]}',
            "ranges[0].when.a: must be a list",
        ),
        (
            '{"schema": 1, "tables": [{"name": "a", "source": "b", "key": "d", "columns": ["d"], "rows": [[]]}]}',
            "tables[0].rows[0]: has 0 cells; write one for each column: d",
        ),
        (
            '{"schema": 1, "tables": [{"name": "a", "source": "b", "key": "d", "columns": ["d"], "rows": [[1]]}]}',
            "tables[0].rows[0][0]: must be a text",
        ),
        (
            '{"schema": 1, "tables": [{"name": "a", "source": "b", "key": "c", "columns": ["d"], "rows": []}]}',
            "no column",
        ),
        (
            '{"schema": 1, "stacks": [{"name": "a", "overlays": [], "components": [{"nme": "b"}]}]}',
            "components[0].nme: is not known",
        ),
        ('{"schema": 1, "stacks": [{"overlays": []}]}', "name: is missing"),
    ],
)
def test_a_wrong_data_file_is_named_with_what_is_wrong(tmp_path: Path, content: str, where: str) -> None:
    more = tmp_path / "more.json"
    more.write_text(content)
    with pytest.raises(DataError, match=r"more\.json") as raised:
        knowledge.load([str(more)])
    assert where in str(raised.value)


def test_a_driver_is_compatible_where_its_own_file_names_the_toolkit(machine: Machine) -> None:
    machine.file(
        "/usr/local/Ascend/driver/version.info",
        "Version=25.2.0\nInnerversion=V100R001C23SPC1\ncompatible_version=[V100R001C23]\npackage_version=25.2.0\n",
    )
    report = machine.report("vllm-0.11")
    assert row(report, "hdk with cann 8.3.RC1").level == "compatible"
    assert row(report, "hdk", "stack.pins").level == "compatible"
    assert row(report, "driver with toolkit", "driver.driver").level == "matched"


def test_a_driver_that_neither_file_names_is_broken(machine: Machine) -> None:
    machine.file(
        "/usr/local/Ascend/driver/version.info",
        "Version=23.0.0\nInnerversion=V100R001C13\ncompatible_version=[V100R001C10]\npackage_version=23.0.0\n",
    )
    report = machine.report()
    assert row(report, "hdk with cann 8.3.RC1").level == "broken"
    assert row(report, "driver with toolkit", "driver.driver").level == "broken"


@pytest.mark.parametrize(("version", "level"), [("7.8.0.5.216", "matched"), ("9.1.0", "broken"), ("weird", "unknown")])
def test_firmware_is_held_against_the_range_in_the_drivers_file(machine: Machine, version: str, level: str) -> None:
    machine.file("/usr/local/Ascend/firmware/version.info", f"Version={version}\n")
    assert row(machine.report(), "firmware", "driver.firmware").level == level


def test_a_container_that_does_not_see_the_firmware_has_no_row_for_it(machine: Machine) -> None:
    machine.remove("/usr/local/Ascend/firmware")
    assert not [one for one in machine.report().rows if one.component == "firmware"]


def test_the_drivers_version_is_npu_smis_where_its_file_is_not_mounted(machine: Machine) -> None:
    machine.remove("/usr/local/Ascend/driver/version.info")
    assert row(machine.report(), "hdk with cann 8.3.RC1").found == "25.3.rc1"


@pytest.mark.parametrize("name", [stack.name for stack in knowledge.load().stacks])
def test_a_machine_is_held_against_any_stack(machine: Machine, name: str) -> None:
    report = machine.report(name)
    assert report.stack == name
    assert {one.component for one in report.rows if one.check == "stack.pins"} >= {"python", "cann", "torch_npu"}


def test_pins_of_another_stack_are_broken_with_the_command_that_installs_them(machine: Machine) -> None:
    report = machine.report("vllm-0.7.3")
    found = row(report, "torch_npu", "stack.pins")
    assert (found.level, found.fix) == ("broken", "pip install --no-deps 'torch-npu==2.5.1'")
    vllm = row(report, "vllm", "stack.pins")
    assert vllm.fix.startswith("VLLM_TARGET_DEVICE=empty pip install")
    assert vllm.fix.endswith("'git+https://github.com/vllm-project/vllm@v0.7.3'")


@pytest.mark.parametrize(
    ("python", "level"),
    [("3.10.4", "matched"), ("3.11.9", "compatible"), ("3.12.1", "broken"), ("3.8.20", "broken")],
)
def test_another_python_than_the_stacks_will_do_where_every_table_allows_it(
    machine: Machine, python: str, level: str
) -> None:
    # torch 2.7.1 is published for 3.9 to 3.13, vllm-ascend 0.11.0rc1 for 3.9 to 3.11 only.
    machine.python = python
    found = row(machine.report("vllm-0.11"), "python", "stack.pins")
    assert found.level == level
    assert ("vllm_ascend" in found.expected) == (level == "compatible")


def test_an_unknown_stack_is_refused_with_those_there_are(machine: Machine) -> None:
    with pytest.raises(DataError, match=r"no stack `x`; there are: verl-0\.9\.1, mindspeed-rl-2\.3, "):
        machine.report("x")


def test_without_a_stack_the_nearest_is_named(machine: Machine) -> None:
    assert machine.report().nearest == "vllm-0.11"
    assert machine.report("vllm-0.11").nearest == ""


def install_overlays(machine: Machine, *overlays: str) -> None:
    """Install wheels that say they were made of these overlays; behind one's name may stand its layers."""
    for overlay in overlays:
        record = changes(*overlay.split())
        write(machine.site / f"{record['upstream']['project']}_npu_summary/changes.json", json.dumps(record))


# By the overlays of the wheels: the stack that they were built for, and the others.
CHOSEN = {
    ("verl@0.9.1", "transformers@5.10.4"): ("verl-0.9.1", ["verl-0.9.1-images"]),
    # Of two that are no records, the one whose versions the machine has.
    ("verl@d62da49", "transformers@91393fe"): ("vllm-0.11", ["sglang-0.5.2", "sglang-2025-09"]),
    ("verl@bec9ef7",): ("verl-0.7.1", ["verl-0.7.1-images"]),
    ("transformers@5.10.4",): ("verl-0.9.1", ["verl-0.9.1-images"]),
    # A site's own overlay on top of one of ours, and a wheel of which there are no stacks.
    ("verl@acme verl@d62da49 verl", "peft@1.0"): ("vllm-0.11", ["sglang-0.5.2", "sglang-2025-09"]),
    ("peft@1.0",): ("", []),
    # No stack holds both, so that neither is taken.
    ("verl@0.9.1", "transformers@91393fe"): ("", []),
    ("verl@acme", "transformers@5.10.4"): ("", []),
}


@pytest.mark.parametrize("overlays", CHOSEN, ids=" ".join)
def test_the_stack_is_that_of_the_installed_wheels(machine: Machine, overlays: tuple[str, ...]) -> None:
    install_overlays(machine, *overlays)
    report = machine.report()
    assert (report.stack, list(report.others)) == CHOSEN[overlays]
    assert bool([one for one in report.rows if one.check == "stack.pins"]) is bool(report.stack)
    # One that is named wins.
    assert machine.report("vllm-0.7.3").stack == "vllm-0.7.3"


def test_the_report_says_which_stack_was_taken_and_why(machine: Machine) -> None:
    install_overlays(machine, "verl@0.9.1", "transformers@5.10.4")
    heading = machine.report().to_text().partition("\n\n")[0]
    assert heading.replace("\n", " ") == (
        "Compared with the stack verl-0.9.1, which verl-npu (verl@0.9.1) and transformers-npu (transformers@5.10.4) "
        "were built for, and the published tables. Others for the same wheels: --stack verl-0.9.1-images."
    )


@pytest.mark.parametrize(
    ("verl", "level", "of_verl"), [("verl@0.9.1", "broken", "verl-0.9.1"), ("verl@acme", "compatible", "no stack")]
)
def test_wheels_that_no_stack_holds_together_are_named(machine: Machine, verl: str, level: str, of_verl: str) -> None:
    install_overlays(machine, verl, "transformers@91393fe")
    found = row(machine.report(), "stack of the patched wheels", "stack.wheels")
    assert (found.level, found.found) == (level, f"verl-npu ({verl}) with transformers-npu (transformers@91393fe)")
    assert f"({verl}: {of_verl}; transformers@91393fe: sglang-0.5.2, vllm-0.11)" in found.fix


def test_a_commit_is_compared_though_the_version_is_the_same(machine: Machine) -> None:
    clone(machine.clones / "MindSpeed", "b" * 40)
    found = row(machine.report("vllm-0.11"), "mindspeed", "stack.pins")
    assert found.level == "broken"
    assert "b" * 40 in found.found
    assert MINDSPEED in found.expected


def test_an_optional_group_is_not_missed_where_none_of_it_is_installed(machine: Machine) -> None:
    machine.path = [entry for entry in machine.path if "clones" not in entry]
    report = machine.report("vllm-0.11")
    assert not [one for one in report.rows if one.component in ("mindspeed", "megatron_core")]
    assert report.exit_code == 0


def test_half_an_optional_group_is_broken(machine: Machine) -> None:
    machine.path = [entry for entry in machine.path if "Megatron-LM" not in entry]
    assert row(machine.report("vllm-0.11"), "megatron_core", "stack.pins").level == "broken"


def test_what_must_be_absent_is_broken_when_there(machine: Machine) -> None:
    machine.install("timm", "1.0.16")
    found = row(machine.report("sglang-0.5.2"), "timm", "stack.absent")
    assert (found.level, found.fix) == ("broken", "pip uninstall -y timm")


def test_a_stack_component_without_a_commit_is_unknown_rather_than_right(machine: Machine) -> None:
    (machine.clones / "MindSpeed" / ".git" / "HEAD").write_text("ref: refs/heads/gone\n")
    assert row(machine.report("vllm-0.11"), "mindspeed", "stack.pins").level == "unknown"
    assert machine.report("vllm-0.11").exit_code == 2


def test_the_commit_of_a_development_vllm_ascend_finds_its_row(machine: Machine) -> None:
    machine.install_vllm_ascend("0.10.0rc2.dev53+g1de16ead8")
    machine.install_vllm("0.10.0+empty")
    report = machine.report()
    label = "with vllm_ascend_commit 1de16ead8"
    assert row(report, f"vllm {label}").level == "broken"
    assert row(report, f"torch_npu {label}").level == "compatible"
    assert row(report, f"cann {label}").level == "compatible"
    assert not [one for one in report.rows if one.component == "vllm_ascend" and one.level == "unknown"]


def test_a_requirement_between_packages_of_a_stack_that_does_not_hold_is_broken(machine: Machine) -> None:
    machine.install("vllm-ascend", "0.10.0rc1", requires=["transformers<4.54.0", "numpy<2; python_version >= '3.10'"])
    found = row(machine.report(), "transformers for vllm-ascend", "install.requirements")
    assert found.level == "broken"
    assert "<4.54.0" in found.expected
    assert not [one for one in machine.report().rows if one.component == "numpy for vllm-ascend"]


def test_the_variables_of_a_reproducible_run_are_wanted_only_when_asked_for(machine: Machine) -> None:
    assert not [one for one in machine.report().rows if one.check == "engine.deterministic"]
    machine.env |= {"HCCL_DETERMINISTIC": "True", "ATB_MATMUL_SHUFFLE_K_ENABLE": "1"}
    levels = {
        one.component: one.level
        for one in machine.report(deterministic=True).rows
        if one.check == "engine.deterministic"
    }
    assert levels.pop("HCCL_DETERMINISTIC") == "matched"
    assert levels == dict.fromkeys(
        [
            "LCCL_DETERMINISTIC",
            "CLOSE_MATMUL_K_SHIFT",
            "ATB_MATMUL_SHUFFLE_K_ENABLE",
            "ATB_LLM_LCOC_ENABLE",
            "VLLM_ENABLE_V1_MULTIPROCESSING",
        ],
        "broken",
    )


def test_a_machine_without_torch_npu_is_broken_whatever_the_stack(machine: Machine) -> None:
    machine.uninstall("torch-npu")
    assert row(machine.report(), "torch_npu", "stack.presence").level == "broken"
    assert row(machine.report("vllm-0.11"), "torch_npu", "stack.pins").level == "broken"


def test_a_missing_torch_npu_comes_with_a_command_that_can_be_run(machine: Machine) -> None:
    machine.uninstall("torch-npu")
    fix = row(machine.report(), "torch_npu", "stack.presence").fix
    assert fix.startswith("python -m pip install torch_npu==")
    machine.uninstall("torch")
    fix = row(machine.report(), "torch_npu", "stack.presence").fix
    assert re.fullmatch(r"python -m pip install torch==[0-9.]+ torch_npu==[0-9.]+\S*", fix)


def test_on_x86_every_fix_gives_the_torch_that_torch_npu_requires_there(machine: Machine) -> None:
    machine.machine = "x86_64"
    machine.install_torch("2.5.1")
    machine.install("torch-npu", "2.7.1", requires=["torch==2.7.1+cpu"])
    machine.install("vllm", "0.9.1", requires=["torch==2.7.0"])
    fixes = [row.fix for row in machine.report().rows if "torch==" in row.fix]
    assert len(fixes) >= 3
    assert [fix for fix in fixes if not re.search(rf"torch==2\.7\.1\+cpu --extra-index-url {CPU_INDEX}", fix)] == []
    machine.uninstall("torch-npu")
    machine.uninstall("torch")
    fix = row(machine.report(), "torch_npu", "stack.presence").fix
    assert re.fullmatch(rf"python -m pip install torch==[0-9.]+\+cpu --extra-index-url {CPU_INDEX} torch_npu==\S+", fix)


def test_a_fix_begins_with_what_a_person_does_before_its_commands(machine: Machine) -> None:
    fix = row(machine.report("verl-0.9.1"), "triton_ascend", "stack.pins").fix
    assert fix.startswith("put the wheel of triton-ascend 3.2.2, ")
    assert fix.endswith(" into wheels/, then pip install --no-deps --find-links wheels 'triton-ascend==3.2.2'")


def test_on_x86_what_belongs_to_torch_is_of_the_same_build(machine: Machine) -> None:
    machine.machine = "x86_64"
    machine.install("torchvision", "0.20.1")
    fix = row(machine.report("vllm-0.11"), "torchvision", "stack.pins").fix
    assert fix == f"pip install --no-deps torchvision==0.22.1+cpu --extra-index-url {CPU_INDEX}"
    machine.install_torch("2.7.1+cu126", cuda="12.6")
    (fix,) = (one.fix for one in machine.report().rows if one.component == "CUDA in torch")
    assert re.fullmatch(
        rf"pip install --force-reinstall --no-deps torch==[0-9.]+\+cpu --extra-index-url {CPU_INDEX}", fix
    )


def test_what_a_patched_wheel_requires_and_nobody_installed_is_named(machine: Machine) -> None:
    machine.install(
        "verl-npu",
        "0.6.1+npu.1",
        {"verl_npu_summary/changes.json": "{}"},
        requires=[
            "absent-thing[default] <3,>=2.0",
            "absent-thing!=2.5",
            "torch",
            "companion==0.6.1+npu.1",
            "only-windows; sys_platform == 'win32'",
            'wanted; extra == "vllm"',
        ],
    )
    found = row(machine.report(), "requirements of verl-npu", "install.required")
    assert (found.level, found.found) == ("broken", "not installed: absent-thing, companion")
    assert found.fix == (
        "python -m pip install --find-links wheels 'absent-thing[default]<3,>=2.0,!=2.5' companion==0.6.1+npu.1"
    )
    machine.install(
        "transformers-npu",
        "4.56.1+npu.1",
        {"transformers_npu_summary/changes.json": json.dumps(changes("transformers@91393fe"))},
        requires=["absent-thing>=2.0", "gone @ https://example.invalid/gone.whl"],
    )
    for processor, index in (("aarch64", ""), ("x86_64", f"--extra-index-url {CPU_INDEX} ")):
        machine.machine = processor
        found = row(machine.report(), "requirements of verl-npu and transformers-npu", "install.required")
        assert found.fix == (
            f"python -m pip install -c wheels/constraints-vllm-0.11.txt {index}--find-links wheels "
            "'absent-thing[default]<3,>=2.0,!=2.5' companion==0.6.1+npu.1 gone@https://example.invalid/gone.whl"
        )
    machine.install("gone", "1")
    machine.install("absent-thing", "2.1")
    machine.install("companion", "0.6.1+npu.1")
    assert not [one for one in machine.report().rows if one.check == "install.required"]


def test_what_another_package_requires_is_its_own_matter(machine: Machine) -> None:
    machine.install("other", "1.0", requires=["absent-thing"])
    assert not [one for one in machine.report().rows if one.check == "install.required"]
