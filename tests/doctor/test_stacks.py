"""The stacks as data: variants that fit every table, records that do not, each contradiction with its source."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

from npu_doctor import knowledge, versions
from npu_doctor.checks import published
from npu_doctor.context import Context
from npu_overlays.overlay.stacks import load_stacks

if TYPE_CHECKING:
    from npu_doctor.model import Row
    from npu_doctor.stacks import Stack

KNOWLEDGE = knowledge.load()
RECORDS = [stack for stack in KNOWLEDGE.stacks if stack.record]
VARIANTS = [stack for stack in KNOWLEDGE.stacks if not stack.record]


class Paper(Context):
    """A context of a machine that has exactly a stack's pins."""

    def version(self, component: str) -> str:
        assert self.stack is not None
        if component == "python":
            return f"{self.stack.python}.1"
        if component.endswith("_commit"):
            pin = self.stack.component(component.removesuffix("_commit"))
            return pin.commit if pin else ""
        pin = self.stack.component(component)
        return pin.version if pin else ""


def rows(stack: Stack) -> list[Row]:
    """Judge a stack's pins by the published tables alone."""
    return list(published.tables(Paper(knowledge=KNOWLEDGE, system=None, stack=stack)))  # type: ignore[arg-type]


# What is newer than the tables; the stack's contradictions say where its match was published.
NEWER = {"transformers-5.24.0": ["torch_npu"]}


@pytest.mark.parametrize("stack", VARIANTS, ids=lambda stack: stack.name)
def test_a_consistent_variant_fits_every_published_table(stack: Stack) -> None:
    judged, newer = rows(stack), NEWER.get(stack.name, [])
    assert len(judged) > 4 or newer
    assert [row.component for row in judged if row.level in ("broken", "unknown")] == newer
    assert set(newer) <= set(chain.from_iterable(one.components for one in stack.contradictions))


@pytest.mark.parametrize("stack", [one for one in VARIANTS if not one.contradictions], ids=lambda stack: stack.name)
def test_a_variant_without_remaining_contradictions_is_matched_throughout(stack: Stack) -> None:
    assert {row.level for row in rows(stack)} == {"matched"}


def broken(stack: Stack) -> set[str]:
    return {row.component for row in rows(stack) if row.level in {"broken", "unknown"}}


def test_the_records_break_where_the_vendors_tables_say_so() -> None:
    found = {stack.name: broken(stack) for stack in RECORDS}
    assert found == {
        # No table has the vllm-ascend it names; that of its commit fits. What it contradicts is no pair of versions.
        "mindspeed-rl-2.3": set(),
        # Versions that fit, by requirements that do not.
        "verl-0.9.1-images": set(),
        # 2.5.1rc1 is in no table of torch_npu, and not what vllm-ascend 0.7.3 asks for.
        "vllm-0.7.3-2025-05": {"torch_npu", "torch_npu with vllm_ascend 0.7.3"},
        # 2.6.0 is CANN 8.2.RC1's; the development build of triton-ascend is in no table.
        "sglang-2025-09": {"cann with torch_npu 2.6.0"},
        # 2.8.0 is CANN 8.3.RC1's, and vllm-ascend 0.13.0 asks for 2.8.0.post2.
        "verl-0.7.1-images": {"cann with torch_npu 2.8.0", "torch_npu with vllm_ascend 0.13.0"},
    }


@pytest.mark.parametrize("stack", RECORDS, ids=lambda stack: stack.name)
def test_a_record_states_its_contradictions_with_sources_and_has_a_variant(stack: Stack) -> None:
    assert stack.contradictions
    for one in stack.contradictions:
        assert one.source
        assert set(one.says) == set(one.instead) == {"en", "zh"}
    assert [variant for variant in VARIANTS if variant.variant_of == stack.name]


@pytest.mark.parametrize(
    ("stack", "version"),
    [
        (
            "mindspeed-rl-2.3",
            {
                "torch": "2.7.1",
                "torch_npu": "2.7.1",
                "cann": "8.3.RC1",
                "vllm": "0.10.1",
                "vllm_ascend": "0.10.0",
                "megatron_core": "0.12.1",
            },
        ),
        (
            "vllm-0.7.3-2025-05",
            {"torch": "2.5.1", "torch_npu": "2.5.1rc1", "cann": "8.1.RC1", "vllm": "0.7.3", "vllm_ascend": "0.7.3"},
        ),
        (
            "sglang-2025-09",
            {
                "torch": "2.6.0",
                "torch_npu": "2.6.0",
                "cann": "8.3.RC1",
                "hdk": "25.3.RC1",
                "transformers": "4.56.1",
                "triton_ascend": "3.2.0.dev20250925",
            },
        ),
        (
            "verl-0.7.1-images",
            {
                "cann": "8.5.0",
                "torch": "2.8.0",
                "torch_npu": "2.8.0",
                "vllm": "0.13.0",
                "vllm_ascend": "0.13.0",
                "triton_ascend": "3.2.0",
                "megatron_core": "0.12.1",
            },
        ),
    ],
)
def test_a_record_keeps_the_pins_as_published(stack: str, version: dict[str, str]) -> None:
    record = KNOWLEDGE.stack(stack)
    assert {name: pin.version for name in version if (pin := record.component(name))} == version


def test_the_commits_of_the_record_are_whole() -> None:
    record = KNOWLEDGE.stack("mindspeed-rl-2.3")
    commits = {pin.name: pin.commit for pin in record.components if pin.commit}
    assert commits == {
        "vllm": "38217877aa70041c0115ee367b75197af9cbc5ad",
        "vllm_ascend": "1de16ead8eecfec8903ec1b330b27a4fa2593c35",
        "mindspeed": "1cdd0abd75e40936ad31721c092f57c695dd72c4",
    }
    assert record.python == "3.10"


@pytest.mark.parametrize("stack", KNOWLEDGE.stacks, ids=lambda stack: stack.name)
def test_every_pin_says_where_it_comes_from_and_can_be_installed(stack: Stack) -> None:
    for pin in stack.components:
        assert pin.source, pin
        assert pin.install in ("system", "index", "source", "git", "overlay"), pin
        assert set(pin.note) in (set(), {"en", "zh"}), pin
        assert not pin.version or versions.parse(pin.version), pin
        assert len(pin.commit) in {0, 40}, pin
        if pin.install == "git" and not stack.record:
            assert pin.commit or pin.commands, pin
    assert set(stack.title) == {"en", "zh"}


def test_every_table_says_where_it_was_published_and_has_rows() -> None:
    for table in KNOWLEDGE.tables:
        assert table.source
        assert table.rows
        for row in table.rows:
            assert row[table.columns.index(table.key)]


def test_every_cell_of_every_table_is_a_version_or_a_range() -> None:
    for table in KNOWLEDGE.tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                if column not in ("branch", "mindspeed") and not column.endswith("_commit"):
                    choices = cell.split(" | ") if cell else []
                    assert all(versions.allows(choice, "1.0") is not None for choice in choices), (table.name, row)


def test_every_range_names_a_source_and_components_of_a_table() -> None:
    known = set(chain.from_iterable(table.columns for table in KNOWLEDGE.tables))
    for one in KNOWLEDGE.ranges:
        assert one.source
        assert {one.component, *one.when} <= known
        assert versions.allows(one.allow, "1.0") is not None


def test_the_build_tool_reads_the_same_stacks_and_finds_their_overlays(pytestconfig: pytest.Config) -> None:
    stacks = load_stacks(pytestconfig.rootpath / "overlays")
    assert stacks.stacks == KNOWLEDGE.stacks
    assert stacks.settings == KNOWLEDGE.settings
    assert stacks.default == KNOWLEDGE.stacks[0].name
    assert not KNOWLEDGE.stacks[0].record


def test_every_symptom_says_what_to_do_and_where_it_was_learnt() -> None:
    assert sorted(KNOWLEDGE.symptoms) == list(range(1, 36))
    for symptom in KNOWLEDGE.symptoms.values():
        assert symptom.message
        assert symptom.cause
        assert symptom.fix
        assert symptom.threads


# What contradicts the vendors' tables, another pin, or what the index has.
STATED = {
    "verl-0.9.1-images": [
        "transformers vllm_ascend",
        "numpy",
        "triton_ascend",
        "vllm torch",
        "torch torch_npu",
    ],
    "mindspeed-rl-2.3": [
        "vllm vllm_ascend",
        "vllm_ascend cann",
        "vllm transformers vllm_ascend",
        "torch_npu vllm_ascend",
        "verl vllm",
        "verl transformers",
        "numpy",
        "mindspeed megatron_core",
        "torchvision transformers",
        "torch torch_npu",
    ],
    "vllm-0.7.3-2025-05": ["torch_npu vllm_ascend", "torch torch_npu", "vllm ray"],
    "sglang-2025-09": [
        "torch_npu cann",
        "triton_ascend cann",
        "numpy",
        "sglang timm torchvision",
        "verl sglang",
        "verl transformers",
        "sglang torch",
        "torch_memory_saver",
        "torchvision transformers",
        "torch torch_npu",
    ],
    "verl-0.7.1-images": [
        "torch_npu vllm_ascend cann",
        "vllm_ascend",
        "verl vllm",
        "mindspeed torch cann",
        "verl numpy",
        "torch torch_npu",
    ],
}


@pytest.mark.parametrize("stack", RECORDS, ids=lambda stack: stack.name)
def test_every_known_contradiction_of_a_record_is_stated(stack: Stack) -> None:
    assert {" ".join(one.components) for one in stack.contradictions} == set(STATED[stack.name])
