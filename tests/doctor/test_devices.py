"""Devices, their memory and ports: which of them matter to a run, and what is to be done where it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .machine import SMI, SOCKETS, Machine
from .test_symptoms import another_container_on_a_device, another_process_on_a_device, container_without_devices

if TYPE_CHECKING:
    from .test_symptoms import Ill


def fix(machine: Machine, component: str) -> str:
    return next(row.fix for row in machine.report().rows if row.component == component)


def test_a_process_of_this_container_can_be_stopped_here_and_another_cannot(machine: Machine) -> None:
    another_process_on_a_device(machine)
    assert fix(machine, "memory of the devices").startswith("it is no process of this container: stop it on the host")
    machine.file("/proc/29726/comm", "python\n")
    assert fix(machine, "memory of the devices").startswith("stop it: kill 29726, or leave")


@pytest.mark.parametrize(("visible", "ill"), [("0", False), ("1", True), ("0-1", True), ("0, 1", True), ("", True)])
@pytest.mark.parametrize("make", [another_process_on_a_device, another_container_on_a_device])
def test_memory_of_devices_that_are_left_out_does_not_matter(
    machine: Machine, visible: str, ill: bool, make: Ill
) -> None:
    machine.env["ASCEND_RT_VISIBLE_DEVICES"] = visible
    make(machine)
    assert ("broken" in {row.level for row in machine.rows(25)}) is ill


def test_memory_that_listed_processes_hold_is_told_once(machine: Machine) -> None:
    row = "| 1       0                 | 29726         | VLLMWorker               | 57000                   |"
    first, second = SMI.split("| 1     910B3")
    output = f"{first}| 1     910B3{second.replace(' 3394 /', '60100 /')}"
    machine.command("npu-smi", output.replace(output.splitlines()[-2], row))
    assert [row.component for row in machine.rows(25) if row.level == "broken"] == ["memory of the devices"]


def test_ports_within_a_range_or_chosen_freely_do_not_matter(machine: Machine) -> None:
    machine.file("/proc/net/tcp", SOCKETS.format(port=60003))
    assert {row.level for row in machine.rows(28)} == {"matched"}
    machine.env["HCCL_HOST_SOCKET_PORT_RANGE"] = "60003-60004"
    assert {row.level for row in machine.rows(28)} == {"matched"}
    machine.file("/proc/net/tcp6", SOCKETS.format(port=60004))
    assert [row.found for row in machine.rows(28) if row.level == "broken"] == ["60003, 60004"]


def test_devices_this_user_may_not_open_are_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, _mode: not path.endswith("/dev/davinci1"))
    rows = [row for row in machine.rows(33) if row.component == "devices and driver"]
    assert [(row.level, row.found) for row in rows] == [("broken", "not for this user: /dev/davinci1")]
    assert "HwHiAiUser" in rows[0].fix


def test_a_container_is_told_what_to_mount_and_a_host_what_to_install(machine: Machine) -> None:
    container_without_devices(machine)
    assert fix(machine, "devices and driver").startswith("install the driver")
    machine.file("/.dockerenv")
    assert fix(machine, "devices and driver").startswith("start the container with --device")


def test_devices_that_are_left_out_are_not_missed_by_ray(machine: Machine) -> None:
    machine.env["ASCEND_RT_VISIBLE_DEVICES"] = "1"
    machine.acl("return 1, 0")
    assert [(row.level, row.found) for row in machine.rows(32, imports=True)] == [("matched", "1 through acl")]


@pytest.mark.slow
def test_an_acl_that_never_answers_hides_nothing_of_torch(machine: Machine) -> None:
    machine.patience = 5
    machine.acl("__import__('time').sleep(600)")
    rows = {row.component: row for row in machine.report(imports=True).rows}
    assert rows["import torch"].level == "matched"
    assert "no answer within 5 s" in rows["devices seen by Ray"].found
