"""The start of a rollout engine: arguments, hybrid tensor parallelism, data-parallel environment, ports."""

from __future__ import annotations

import dataclasses
import socket
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .layer import load

engine_arguments = load("utils.npu.engine_arguments")
data_parallel = load("utils.npu.data_parallel")
ports = load("utils.npu.ports")
hybrid_tp_config = load("workers.sharding_manager.hybrid_tp_config")

ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9))


@given(own=ARGUMENTS, requested=ARGUMENTS, user=ARGUMENTS)
def test_the_users_arguments_win_over_the_configs_and_verls(
    own: dict[str, int], requested: dict[str, int], user: dict[str, int]
) -> None:
    assert engine_arguments.merged(own, requested, user) == {**own, **requested, **user}


def test_nested_settings_are_merged_key_by_key() -> None:
    requested = {"additional_config": {"lmhead_tensor_parallel_size": 2, "refresh": False}}
    user = {"additional_config": {"refresh": True, "torchair_graph_config": {"enabled": False}}}

    merged = engine_arguments.merged({}, requested, user)

    assert merged["additional_config"] == {
        "lmhead_tensor_parallel_size": 2,
        "refresh": True,
        "torchair_graph_config": {"enabled": False},
    }


def test_merging_does_not_change_its_inputs() -> None:
    requested, user = {"additional_config": {"a": 1}}, {"additional_config": {"b": 2}}

    engine_arguments.merged(requested, user)

    assert (requested, user) == ({"additional_config": {"a": 1}}, {"additional_config": {"b": 2}})


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, {"enable_prefix_caching": True}),
        ({"enable_prefix_caching": False}, {"enable_prefix_caching": False}),
        ({"max_num_seqs": 64}, {"enable_prefix_caching": True, "max_num_seqs": 64}),
        (
            {"tensor_model_parallel_size": 2, "data_parallel_size": 4, "expert_parallel_size": 8},
            {"enable_prefix_caching": True, "enable_expert_parallel": True},
        ),
        (
            {"tensor_model_parallel_size": 2, "dp_model_parallel_size": 4, "expert_parallel_size": 8},
            {"enable_prefix_caching": True, "enable_expert_parallel": True},
        ),
        ({"cudagraph_capture_sizes": [1, 2], "enforce_eager": True}, {"enable_prefix_caching": True}),
        ({"cudagraph_capture_sizes": [1, 2]}, {"enable_prefix_caching": True}),
        (
            {"cudagraph_capture_sizes": [8, 1, 4, 512], "enforce_eager": False, "max_num_seqs": 8},
            {
                "enable_prefix_caching": True,
                "max_num_seqs": 8,
                "compilation_config": {"cudagraph_capture_sizes": [1, 4, 8]},
            },
        ),
    ],
)
def test_engine_arguments_of_a_rollout_config(config: dict[str, Any], expected: dict[str, Any]) -> None:
    assert engine_arguments.requested_arguments(config, {}) == expected


def test_graph_sizes_that_can_never_occur_are_an_error() -> None:
    with pytest.raises(ValueError, match="max_num_seqs"):
        engine_arguments.graph_sizes([64, 128], 32)


def test_experts_cannot_be_spread_over_some_of_the_ranks() -> None:
    with pytest.raises(ValueError, match="= 8"):
        engine_arguments.expert_parallel(
            {"expert_parallel_size": 4, "tensor_model_parallel_size": 2, "data_parallel_size": 4}
        )


@dataclasses.dataclass
class EngineArgs:
    """A stub of vLLM's class: like the real one, it refuses unknown arguments."""

    model: str
    enable_prefix_caching: bool = False
    seed: int = 0
    max_num_seqs: int = 256


def test_a_server_gets_no_unknown_keys_that_are_off() -> None:
    config = {
        "max_num_seqs": 1024,
        "engine_kwargs": {"vllm": {"seed": 7, "swap_space": None, "disable_mm_preprocessor_cache": False}},
    }

    built = engine_arguments.server_arguments(EngineArgs, config, model="m", seed=0)

    assert built == EngineArgs(model="m", enable_prefix_caching=True, seed=7)


def test_a_server_gets_unknown_arguments_that_are_set() -> None:
    config = {"engine_kwargs": {"vllm": {"sede": 7}}}

    with pytest.raises(TypeError, match="sede"):
        engine_arguments.server_arguments(EngineArgs, config, model="m")


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"data_parallel_size": 2}, "data_parallel_size needs rollout.mode=sync"),
        ({"dp_model_parallel_size": 2}, "data_parallel_size needs rollout.mode=sync"),
        ({"hybrid_tp": {"enabled": True, "lmhead_tensor_parallel_size": 2}}, "no effect with rollout.mode=async"),
        ({"hybrid_tp": {"lmhead": 2}}, "has no key lmhead"),
    ],
)
def test_settings_without_effect_on_a_server_are_refused(config: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        engine_arguments.server_arguments(EngineArgs, config, model="m")


def test_hybrid_sizes_that_are_switched_off_do_not_stop_a_server() -> None:
    config = {"hybrid_tp": {"enabled": False, "lmhead_tensor_parallel_size": 2}}

    assert engine_arguments.server_arguments(EngineArgs, config, model="m").model == "m"


def hybrid(**sizes: Any) -> Any:
    return hybrid_tp_config.HybridTPConfig.from_config({"enabled": True, **sizes})


def test_hybrid_sizes_are_passed_by_vllm_ascends_names_only_when_enabled() -> None:
    config = hybrid(lmhead_tensor_parallel_size=2)

    config.validate(world_size=8, tensor_parallel_size=1, readable=lambda _setting: True)

    assert config.sizes == {"lmhead_tensor_parallel_size": 2}
    assert dataclasses.replace(config, enabled=False).sizes == {}
    assert hybrid_tp_config.HybridTPConfig.from_config(None).sizes == {}


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        ({"lmhead_tensor_parallel_size": 3}, "does not divide the world of 8"),
        ({"lmhead_tensor_parallel_size": 0}, "not a whole number"),
        ({"lmhead_tensor_parallel_size": "2"}, "not a whole number"),
        ({"lmhead_tensor_parallel_size": True}, "not a whole number"),
        ({"oproj_tensor_parallel_size": 2}, "training rollout is not"),
    ],
)
def test_hybrid_sizes_that_cannot_work_are_refused(sizes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        hybrid(**sizes).validate(world_size=8, tensor_parallel_size=1, readable=lambda _setting: True)


def test_all_problems_of_a_hybrid_config_are_reported_together() -> None:
    with pytest.raises(ValueError, match="not read by the installed vllm-ascend") as caught:
        hybrid(lmhead_tensor_parallel_size=3).validate(
            world_size=8, tensor_parallel_size=2, readable=lambda _setting: False
        )

    assert "does not divide" in str(caught.value)
    assert "tensor_model_parallel_size 1, not 2" in str(caught.value)


def test_without_vllm_ascend_no_setting_is_read() -> None:
    with pytest.raises(ValueError, match="no effect"):
        hybrid(lmhead_tensor_parallel_size=2).validate(world_size=2, tensor_parallel_size=1)


def test_an_unknown_hybrid_key_is_named() -> None:
    with pytest.raises(ValueError, match="qkv_tp_size"):
        hybrid(qkv_tp_size=2)


@given(st.data())
def test_ranks_are_laid_out_as_replica_engine_rank(data: st.DataObject) -> None:
    replicas, engines, tensor = (data.draw(st.integers(1, 4)) for _ in range(3))
    world = replicas * engines * tensor
    rank = data.draw(st.integers(0, world - 1))

    layout = data_parallel.Layout(world_size=world, rank=rank, tensor_parallel=tensor, data_parallel=engines)
    layout.check()

    assert 0 <= layout.data_parallel_rank < engines
    assert layout.leader % (engines * tensor) == rank % tensor
    assert layout.leader // (engines * tensor) == rank // (engines * tensor)
    assert layout.leader + layout.data_parallel_rank * tensor == rank


@pytest.mark.parametrize(("tensor", "engines"), [(3, 1), (2, 3), (0, 1), (1, 0), (16, 1)])
def test_sizes_that_do_not_divide_the_world_are_refused(tensor: int, engines: int) -> None:
    layout = data_parallel.Layout(world_size=8, rank=0, tensor_parallel=tensor, data_parallel=engines)

    with pytest.raises(ValueError, match="does not divide the world of 8"):
        layout.check()


def environments(world: int, tensor: int, engines: int, local_world: int) -> list[dict[str, str]]:
    """Return what every rank of a world would set; the exchange is a real barrier between threads."""
    gathered: list[Any] = [None] * world
    barrier = threading.Barrier(world, timeout=30)
    results: list[dict[str, str]] = [{}] * world

    def one(rank: int) -> None:
        def exchange(value: Any) -> list[Any]:
            gathered[rank] = value
            barrier.wait()
            return list(gathered)

        layout = data_parallel.Layout(world_size=world, rank=rank, tensor_parallel=tensor, data_parallel=engines)
        results[rank] = data_parallel.data_parallel_environment(
            layout, address=f"node{rank // local_world}", local_world_size=local_world, exchange=exchange
        )

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_every_group_agrees_on_an_address_and_a_port_of_its_own() -> None:
    world, tensor, engines = 16, 2, 4
    found = environments(world, tensor, engines, local_world=8)

    places = [(one["VLLM_DP_MASTER_IP"], one["VLLM_DP_MASTER_PORT"]) for one in found]
    groups = [(rank // 8, rank % tensor) for rank in range(world)]
    assert len(set(zip(groups, places, strict=True))) == len(set(groups)) == len(set(places)) == 4
    assert [one["VLLM_DP_MASTER_IP"] for one in found] == ["node0"] * 8 + ["node1"] * 8
    assert [one["VLLM_DP_RANK"] for one in found] == [str(rank // tensor % engines) for rank in range(world)]
    assert {one["VLLM_DP_SIZE"] for one in found} == {"4"}
    assert not any("VLLM_PORT" in one or "MASTER_PORT" in one for one in found)


def test_local_ranks_restart_on_each_machine() -> None:
    found = environments(8, tensor=1, engines=8, local_world=4)

    assert [one["VLLM_DP_RANK_LOCAL"] for one in found] == ["0", "1", "2", "3"] * 2


def test_two_engines_are_a_group_and_several_groups_share_a_machine() -> None:
    found = environments(4, tensor=1, engines=2, local_world=4)

    assert [(one["VLLM_DP_SIZE"], one["VLLM_DP_RANK_LOCAL"]) for one in found] == [("2", "0"), ("2", "1")] * 2


def test_sizes_that_do_not_fit_have_no_environment() -> None:
    layout = data_parallel.Layout(world_size=8, rank=1, tensor_parallel=3, data_parallel=2)

    with pytest.raises(ValueError, match="does not divide"):
        data_parallel.data_parallel_environment(
            layout, address="node", local_world_size=8, exchange=lambda _value: pytest.fail("exchanged")
        )


def test_one_engine_per_group_needs_no_environment_and_no_exchange() -> None:
    layout = data_parallel.Layout(world_size=4, rank=1, tensor_parallel=2, data_parallel=1)

    environment = data_parallel.data_parallel_environment(
        layout, address="node", local_world_size=4, exchange=lambda _value: pytest.fail("exchanged")
    )

    assert environment == {}


def test_held_ports_are_consecutive_taken_while_held_and_free_afterwards() -> None:
    with ports.held_ports(3) as first:
        for port in range(first, first + 3):
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(("", port))
    # Another program may have taken one of them since, but hardly all.
    assert any(_is_free(port) for port in range(first, first + 3))


def _is_free(port: int) -> bool:
    with socket.socket() as other:
        try:
            other.bind(("", port))
        except OSError:
            return False
    return True


def test_a_run_with_a_taken_port_is_skipped() -> None:
    with ports.held_ports(2) as first, ports.held_ports(2) as second:
        assert abs(first - second) >= 2


def test_after_a_taken_port_another_run_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    offered, taken = iter((50000, 50002)), 50001

    class Offered(socket.socket):
        """Is offered the ports above, and meets one that is taken."""

        port = 0

        def bind(self, address: Any) -> None:
            self.port = address[1] or next(offered)
            if self.port == taken:
                raise OSError("in use")

        def getsockname(self) -> tuple[str, int]:
            return "", self.port

    monkeypatch.setattr(socket, "socket", Offered)

    with ports.held_ports(2) as first:
        assert first == 50002


def test_searching_ports_on_another_machines_address_ends() -> None:
    with pytest.raises(RuntimeError, match="consecutive free ports"), ports.held_ports(2, host="192.0.2.1"):
        pass
