"""The table of a cluster: which nodes agree, which differ in what, which did not answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from npu_doctor.cluster.report import Cluster, Node
from support.patched import InstalledSite

VERSION = "0.6.1+npu.1.g1234567"


def answer(
    *findings: dict[str, Any], version: str = VERSION, manifest: str = "a", root: str = "/site"
) -> dict[str, Any]:
    levels = {one["level"] for one in findings}
    status = "damaged" if "damage" in levels else "unknown" if "unknown" in levels else "intact"
    return {
        "status": status,
        "exit": {"intact": 0, "damaged": 1, "unknown": 2}[status],
        "distributions": [{"name": "verl-npu", "version": version, "manifest": manifest, "root": root}],
        "findings": list(findings),
        "problems": [],
        "repairs": [f"pip install {one['kind']}" for one in findings],
    }


def finding(
    kind: str = "modified", *, level: str = "damage", paths: tuple[str, ...] = ("verl/x.py",)
) -> dict[str, Any]:
    return {"kind": kind, "level": level, "what": f"{len(paths)} files", "paths": list(paths)}


def node(name: str, verify: dict[str, Any] | None, **more: Any) -> Node:
    return Node(name=name, address=f"10.0.0.{name[-1]}", identity=name, verify=verify, **more)


def test_nodes_alike_and_intact_are_one_line_each() -> None:
    cluster = Cluster(nodes=(node("n1", answer()), node("n2", answer(root="/elsewhere"))))
    assert cluster.exit_code == 0
    assert cluster.to_text().splitlines() == [
        "node  address   verl-npu              state",
        f"n1    10.0.0.1  {VERSION}  intact",
        f"n2    10.0.0.2  {VERSION}  intact",
        "2 nodes: 2 agree, 0 differ, 0 did not answer",
    ]


def test_damaged_node_is_named_with_what_and_repair() -> None:
    damaged = node("n3", answer(finding(paths=tuple(f"verl/{n}.py" for n in range(7)))))
    cluster = Cluster(nodes=(node("n1", answer()), node("n2", answer()), damaged))
    text = cluster.to_text()
    assert cluster.exit_code == 1
    assert "n3 (10.0.0.3) differs from the 2 that agree:\n  modified: 7 files: verl/0.py" in text
    assert "and 2 more\n  repair: pip install modified\n" in text
    assert "3 nodes: 2 agree, 1 differ, 0 did not answer" in text
    assert json.loads(cluster.to_json())["agreeing"] == [["n1", "n2"], ["n3"]]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (answer(version="0.5.0"), f"verl-npu is 0.5.0, there {VERSION}"),
        (answer(manifest="b"), "the same versions, from different builds"),
    ],
)
def test_intact_nodes_that_are_not_alike_are_no_success(other: dict[str, Any], said: str) -> None:
    cluster = Cluster(nodes=(node("n1", answer()), node("n2", answer()), node("n3", other)))
    assert cluster.exit_code == 1
    assert said in cluster.to_text()


def test_silent_and_dead_nodes_are_told_and_cannot_be_vouched_for() -> None:
    cluster = Cluster(nodes=(node("n1", answer()), node("n2", None, problem="no answer within 5 s")))
    assert cluster.exit_code == 2
    assert "n2    10.0.0.2  -                     no answer" in cluster.to_text()
    assert "n2 (10.0.0.2): no answer within 5 s\n2 nodes: 1 agree, 0 differ, 1 did not answer\n" in cluster.to_text()
    assert Cluster(nodes=(node("n1", answer(finding())), node("n2", None, problem="dead"))).exit_code == 1


def test_all_damaged_alike_is_no_agreement_to_trust() -> None:
    cluster = Cluster(nodes=(node("n1", answer(finding())), node("n2", answer(finding()))))
    assert cluster.exit_code == 1
    assert "the 2 that agree are not intact:\n  modified: 1 files: verl/x.py" in cluster.to_text()


def test_doctor_rows_count_as_differences() -> None:
    doctor = {"exit": 1, "rows": [{"level": "broken", "component": "torch", "found": "2.0"}]}
    cluster = Cluster(nodes=(node("n1", answer()), node("n2", answer()), node("n3", answer(), doctor=doctor)))
    assert cluster.exit_code == 1
    assert "doctor: broken: torch: 2.0" in cluster.to_text()


def doctor(*, npus: str = "910B3, 910B3", sha256: str = "a" * 64, **facts: str) -> dict[str, Any]:
    known = {"cann": "8.3.RC1", "cann_runtime": "7.9:8.3.RC1", "chips": npus, "cpus": "8", "cann_home": "/a"}
    package = {"package": "vllm", "version": "0.11.0", "commit": "", "sha256": sha256}
    return {"exit": 0, "rows": [], "facts": {**known, **facts}, "packages": [package]}


def examined(*reports: dict[str, Any]) -> Cluster:
    nodes = [node(f"n{number}", answer(), doctor=one, npus=2.0) for number, one in enumerate(reports, 1)]
    return Cluster(nodes=tuple(nodes))


def test_nodes_with_the_same_software_say_nothing_of_it() -> None:
    cluster = examined(doctor(), doctor(cpus="64", cann_home="/b"), doctor(npus="", cann="", cann_runtime=""))
    assert (cluster.exit_code, cluster.disagreements) == (0, [])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (doctor(cann_runtime="7.7:8.2.RC1"), "cann_runtime differs: 7.9:8.3.RC1 on n1 (10.0.0.1), n2 (10.0.0.2); 7.7:"),
        (doctor(cann="8.2.RC1"), "cann differs: 8.3.RC1 on n1 (10.0.0.1), n2 (10.0.0.2); 8.2.RC1 on n3 (10.0.0.3)"),
        (doctor(npus="910B1, 910B1"), "chips differs: "),
        (doctor(sha256="b" * 64), "vllm differs: 0.11.0 (sha256 aaaaaaaaaaaaaaaa) on n1"),
    ],
)
def test_nodes_with_other_software_are_told_though_each_is_well_by_itself(other: dict[str, Any], said: str) -> None:
    cluster = examined(doctor(), doctor(), other)
    assert cluster.exit_code == 1
    assert [line for line in cluster.to_text().splitlines() if line.startswith(said)]
    assert json.loads(cluster.to_json())["differing"][0].startswith(said)


def test_another_runtime_of_cann_is_told_with_hccls_message() -> None:
    assert "EI0008" in examined(doctor(), doctor(cann_runtime="7.7:8.2.RC1")).to_text()


def test_npus_that_ray_does_not_offer_are_told_of_every_node() -> None:
    nodes = [node(f"n{number}", answer(), doctor=doctor(), npus=0.0) for number in (1, 2)]
    text = Cluster(nodes=tuple(nodes)).to_text()
    assert "the 2 that agree all have this:\n  doctor: broken: Ray offers 0 NPUs, npu-smi shows 2" in text
    assert Cluster(nodes=tuple(nodes)).exit_code == 1
    assert "Ray offers" not in examined(doctor(), doctor()).to_text()


def test_what_is_broken_on_every_node_is_told_once() -> None:
    broken = {"exit": 1, "rows": [{"level": "broken", "component": "numpy", "found": "2.4.6"}]}
    text = Cluster(nodes=tuple(node(name, answer(), doctor=broken) for name in ("n1", "n2"))).to_text()
    assert text.count("doctor: broken: numpy: 2.4.6") == 1


def test_notes_are_no_differences() -> None:
    noted = answer(finding("second copy", level="note"))
    assert Cluster(nodes=(node("n1", answer()), node("n2", noted))).exit_code == 0


def test_no_ray_and_no_cluster_are_said(site: InstalledSite) -> None:
    site.write("ray/__init__.py", b"raise ImportError('none here')\n")
    done = site.python("-m", "verl_npu_summary", "--verify", "--ray")
    said = "error: Ray cannot be imported here (none here); run this on a node of the cluster\n"
    assert (done.code, done.out) == (2, said)
    site.write("ray/__init__.py", b"")
    done = site.python("-m", "verl_npu_summary", "--verify", "--ray", "127.0.0.1:9", "--json")
    assert done.code == 2
    assert "no Ray cluster at 127.0.0.1:9" in done.json()["problems"][0]
