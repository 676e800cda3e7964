"""Expandable segments: the options that torch_npu receives, and the warnings if it cannot receive them."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .layer import load

allocator = load("utils.npu.allocator")

OPTIONS = st.dictionaries(
    st.sampled_from(["max_split_size_mb", "garbage_collection_threshold", "base_addr_aligned_kb", "page_size"]),
    st.sampled_from(["128", "0.8", "1g", "[256:1,512:2]"]),
)


class Setter:
    """Takes option strings like torch_npu's setter; refuses those `refuses` says."""

    def __init__(self, *, one_option_only: bool = False) -> None:
        self.sent: list[str] = []
        self.one_option_only = one_option_only

    def __call__(self, options: str) -> None:
        if self.one_option_only and "," in options:
            raise RuntimeError("only expandable_segments is supported")
        self.sent.append(options)


@pytest.fixture(autouse=True)
def nothing_said_yet() -> None:
    allocator._said.clear()


def environment(**variables: str) -> dict[str, str]:
    return {"EXPANDABLE_SEGMENTS": "True", **variables}


@given(options=OPTIONS, enable=st.booleans())
def test_every_other_option_is_kept_unless_the_allocator_refuses_it(options: dict[str, str], enable: bool) -> None:
    written = ",".join(f"{name}:{value}" for name, value in options.items())

    result = allocator.options(allocator.with_expandable_segments(written, enable=enable))

    refused = set(allocator.CONFLICTING) if enable else set()
    kept = {name: value for name, value in options.items() if name not in refused}
    assert result == {**kept, "expandable_segments": str(enable)}


def test_the_value_has_the_allocators_spelling() -> None:
    assert allocator.with_expandable_segments("", enable=True) == "expandable_segments:True"
    assert allocator.with_expandable_segments("expandable_segments:True", enable=False) == "expandable_segments:False"


def test_options_removed_while_on_return_when_off() -> None:
    setter, environ = Setter(), environment(PYTORCH_NPU_ALLOC_CONF="max_split_size_mb:128,page_size:1g")

    for enable in (False, True, False):
        assert allocator.switch_expandable_segments(enable=enable, setter=setter, environ=environ)

    off = "max_split_size_mb:128,page_size:1g,expandable_segments:False"
    assert setter.sent == [off, "page_size:1g,expandable_segments:True", off]


def test_the_variable_that_vllm_ascend_reads_is_updated() -> None:
    environ = environment(PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")

    allocator.switch_expandable_segments(enable=False, setter=Setter(), environ=environ)

    assert "expandable_segments:True" not in environ["PYTORCH_NPU_ALLOC_CONF"]


@pytest.mark.parametrize("value", ["", "False", "0", "no"])
def test_nothing_happens_unless_the_user_asks(value: str) -> None:
    setter, environ = Setter(), {"EXPANDABLE_SEGMENTS": value}

    assert not allocator.switch_expandable_segments(enable=True, setter=setter, environ=environ)
    assert setter.sent == []
    assert environ == {"EXPANDABLE_SEGMENTS": value}


def test_a_setter_for_one_option_gets_it_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    setter, environ = Setter(one_option_only=True), environment(PYTORCH_NPU_ALLOC_CONF="page_size:1g")

    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            allocator.switch_expandable_segments(enable=True, setter=setter, environ=environ)

    assert setter.sent == ["expandable_segments:True"] * 2
    assert len(caplog.records) == 1


def test_a_refusal_of_the_option_itself_is_raised() -> None:
    def refuse(options: str) -> None:
        raise RuntimeError(f"driver too old for {options}")

    with pytest.raises(RuntimeError, match="driver too old"):
        allocator.switch_expandable_segments(enable=True, setter=refuse, environ=environment())


def test_without_a_setter_one_warning_says_what_to_do(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocator, "_torch_npu_setter", lambda: None)
    environ = environment()

    with caplog.at_level(logging.WARNING):
        results = [allocator.switch_expandable_segments(enable=True, environ=environ) for _ in range(3)]

    assert results == [False] * 3
    assert [record.message for record in caplog.records] == [allocator.NO_SETTER]
    assert "2.7.1" in allocator.NO_SETTER
    assert environ == environment()
