"""The cluster run on a real Ray cluster: several nodes on this machine, each with an installation of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from environments.once import once
from support.patched import InstalledSite, Patched, copy_site
from support.venvs import make_venv

# What these share takes minutes to make.
pytestmark = [pytest.mark.thorough, pytest.mark.index]
_VARIABLES = {
    # Newer heads ask for a token of their own unless told that everything stays on this machine.
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "240",
    # Ray takes five refusals for a death; at its own pace that is a quarter of a minute.
    "RAY_health_check_period_ms": "500",
}


@pytest.fixture(scope="session")
def ray_python(shared: Path) -> Path:
    """Return the Python of an environment with Ray; skips where the index cannot be reached or has no Ray for it."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
        install = [*pip, "install", "--quiet", "--no-compile"]
        done = subprocess.run([*install, "--only-binary", ":all:", "ray"], capture_output=True, text=True, check=False)
        if done.returncode:
            (folder / "unavailable").write_text(done.stderr[-500:])

    folder = once(shared, "ray", make)
    if (folder / "unavailable").exists():
        pytest.skip(f"Ray cannot be installed: {(folder / 'unavailable').read_text()}")
    return folder / "bin" / "python"


@dataclass(kw_only=True)
class LocalCluster:
    """Ray nodes on loopback addresses of this machine, each started with its own PYTHONPATH."""

    python: Path
    temporary: Path
    sites: list[InstalledSite]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Return where the head listens, which it chooses itself."""
        (found,) = set(re.findall(r"--address='([\d.:]+)'", self.said(1)))
        return str(found)

    def variables(self, site: InstalledSite) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            # Ray would send even what stays on this machine through a proxy.
            if not name.startswith(("PYTHON", "RAY_", "COV_")) and not name.lower().endswith("_proxy")
        }
        own = {"PYTHONPATH": str(site.folder), "ASCEND_HOME_PATH": str(self.toolkit(site))}
        # Beside the sites, which are compared; without bytecode each of Ray's dozen processes compiles all of Ray.
        return {**kept, **_VARIABLES, **own, "PYTHONPYCACHEPREFIX": str(self.python.parent.parent / "bytecode")}

    def toolkit(self, site: InstalledSite) -> Path:
        """Return where a node looks for CANN; there is nothing unless a test puts it there."""
        return site.folder.parent / "toolkit"

    def start(self) -> None:
        head = ["--head", "--port", "0", "--temp-dir", str(self.temporary), "--include-dashboard", "false"]
        assert self.start_node(1, *head, "--no-monitor"), self.told()
        for number in range(2, len(self.sites) + 1):
            # Ray chooses ports that another may have taken before they are opened, and then one waits for ever.
            assert any(self.start_node(number, "--address", self.address) for _ in range(3)), self.told()

    def start_node(self, number: int, *role: str) -> bool:
        """Start a node and return whether it came up; one that did not is gone."""
        own = ["--node-ip-address", f"127.0.0.{number}", "--num-cpus", "0", "--object-store-memory", "80000000"]
        spared = ["--disable-usage-stats", "--include-log-monitor", "false"]
        site = self.sites[number - 1]
        with (self.temporary / f"node{number}.log").open("wb") as log:
            self.running.append(
                subprocess.Popen(
                    [str(self.python.with_name("ray")), "start", "--block", *role, *own, *spared],
                    env=self.variables(site),
                    cwd=site.folder.parent,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        if not self.comes(partial(self.is_up, number)):
            self.kill(number)
            self.running.pop().wait()
            return False
        return True

    def is_up(self, number: int) -> bool:
        # The head's port is open some time before it lets other nodes in.
        return "Ray runtime started" in self.said(number)

    def said(self, number: int) -> str:
        return (self.temporary / f"node{number}.log").read_text("utf-8", "replace")

    def comes(self, ready: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + 120
        while not ready():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def told(self) -> str:
        return "\n".join(file.read_text(errors="replace")[-1500:] for file in self.temporary.glob("node*.log"))

    def verify(self, *arguments: str, cwd: Path | None = None, **more: str) -> tuple[int, dict[str, Any]]:
        done = self.run("--json", *arguments, cwd=cwd, **more)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def run(self, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[bytes]:
        command = [str(self.python), "-m", "verl_npu_summary", "--verify", "--ray", self.address, *arguments]
        return subprocess.run(
            command,
            env={**self.variables(self.sites[0]), **more},
            cwd=cwd or self.temporary,
            capture_output=True,
            timeout=300,
            check=False,
        )

    def processes(self, number: int) -> list[int]:
        """Return the processes of a node."""
        group = str(self.running[number - 1].pid)
        found = subprocess.run(["ps", "-eo", "pid=,sid="], capture_output=True, text=True, check=True).stdout
        pairs = map(str.split, found.splitlines())
        return [int(pid) for pid, session in pairs if session == group]

    def stop(self) -> None:
        # Asked to end, nodes take their leave of each other for half a minute.
        for number, process in enumerate(self.running, 1):
            self.kill(number)
            process.wait()

    def kill(self, number: int) -> None:
        for pid in self.processes(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def cluster(ray_python: Path, patched: Patched, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Yield a cluster of three nodes, all intact."""
    sites = [copy_site(patched, tmp_path_factory.mktemp("node") / "site") for _ in range(3)]
    # Sockets need a short path.
    temporary = Path(tempfile.mkdtemp(prefix="ray-"))
    made = LocalCluster(python=ray_python, temporary=temporary, sites=sites)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(temporary, ignore_errors=True)


# A job's own `ray.init` gives its worker a folder, and the worker runs both checks.
_JOB = """
import json, subprocess, sys
import ray

ray.init(
    num_cpus=1, object_store_memory=80_000_000, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
    _temp_dir=sys.argv[1], runtime_env=json.loads(sys.argv[2]),
)

@ray.remote
def look():
    import verl

    said = [verl.__path__[0]]
    for module in (["verl_npu_summary", "--verify"], ["npu_doctor"]):
        done = subprocess.run([sys.executable, "-I", "-m", *module, "--json"], capture_output=True, text=True)
        said.append(json.loads(done.stdout) if done.stdout else done.stderr)
    return said

print(json.dumps(ray.get(look.remote())))
"""


@pytest.mark.parametrize("brings", ["working_dir", "py_modules", ""])
def test_a_worker_of_a_job_with_a_folder_of_its_own_says_what_it_imports(
    ray_python: Path, patched: Patched, tmp_path: Path, brings: str
) -> None:
    site, clone = copy_site(patched, tmp_path / "site"), tmp_path / "clone"
    (clone / "verl").mkdir(parents=True)
    (clone / "verl/__init__.py").write_text("")
    given = {"working_dir": str(clone), "py_modules": [str(clone / "verl")]}
    (tmp_path / "empty").mkdir()
    venv = make_venv(tmp_path / "venv", patched.environment)
    (packages,) = ray_python.parent.parent.glob("lib/python*/site-packages")
    (venv.site / "others.pth").write_text(f"{site.folder}\n{packages}\n")
    temporary = Path(tempfile.mkdtemp(prefix="ray-"))
    job = [_JOB, str(temporary), json.dumps({brings: given[brings]} if brings else {})]
    try:
        done = patched.environment.run(venv.executable, "-c", *job, cwd=tmp_path / "empty", **_VARIABLES)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    assert done.code == 0, done.err

    imported, verified, doctor = json.loads(done.out.splitlines()[-1])
    found = [(one["kind"], one["paths"]) for one in verified["findings"]]
    assert found == ([("shadowed", [imported])] if brings else [])
    assert Path(imported).is_relative_to(temporary if brings else site.folder)
    rows = [row["found"] for row in doctor["rows"] if row["component"] == "verl" and "working_dir" in row["fix"]]
    assert rows == ([f"{imported}/__init__.py"] if brings else [])


def by_node(report: dict[str, Any], key: str) -> dict[str, Any]:
    """Return one value of every node; Ray gives the head the machine's own address instead of the loopback one."""
    others = {"127.0.0.2", "127.0.0.3"}
    return {one["address"] if one["address"] in others else "head": one[key] for one in report["nodes"]}


def test_each_node_answers_for_itself(cluster: LocalCluster, subtests: pytest.Subtests) -> None:
    """One test, since it is starting a cluster that costs; each step leaves the nodes as the next one needs them."""
    with subtests.test("intact nodes agree, wherever they were started"):
        clone = cluster.sites[2].folder.parent / "verl"
        clone.mkdir()
        (clone / "__init__.py").write_text("")
        code, report = cluster.verify()
        assert (code, [one["state"] for one in report["nodes"]]) == (0, ["intact"] * 3)
        assert [len(group) for group in report["agreeing"]] == [3]
    with subtests.test("a copy that Ray puts on the path of a job's workers"):
        copies_of_a_job(cluster)
    with subtests.test("the doctor runs where asked, and tells what differs"):
        different_toolkits(cluster)
    with subtests.test("a damaged node"):
        damaged_node(cluster)
    with subtests.test("a node without the package, and one that is stopped"):
        node_without_the_package_and_stopped_node(cluster)
    with subtests.test("a dead node"):
        dead_node(cluster)


def copies_of_a_job(cluster: LocalCluster) -> None:
    """Ray looks into the folder a job is started in, and into what its `runtime_env` brings, before the wheels."""
    clone = cluster.temporary / "clone"
    (clone / "verl").mkdir(parents=True)
    (clone / "verl/__init__.py").write_text("")
    started: list[tuple[Path | None, dict[str, Any]]] = [
        (clone, {}),
        (None, {"working_dir": str(clone)}),
        (None, {"py_modules": [str(clone / "verl")]}),
    ]
    for cwd, runtime_env in started:
        # As the variable in which a submitted job finds what it was submitted with.
        job = {"RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps({"runtime_env": runtime_env})} if runtime_env else {}
        code, report = cluster.verify("--timeout", "120", cwd=cwd, **job)
        assert code == 1, report
        for node in report["nodes"]:
            (found,) = node["verify"]["findings"]
            assert (found["kind"], found["cause"].startswith("Ray puts it before")) == ("shadowed", True), found


def different_toolkits(cluster: LocalCluster) -> None:
    for site, version in zip(cluster.sites, ("8.3.RC1", "8.3.RC1", "8.2.RC1"), strict=True):
        toolkit = cluster.toolkit(site)
        toolkit.mkdir()
        (toolkit / "version.cfg").write_text(f"runtime_running_version=[7.9:{version}]\n")
    code, report = cluster.verify("--doctor", "--timeout", "120")
    assert code == 1
    assert [one["doctor"] is not None and len(one["doctor"]["rows"]) > 0 for one in report["nodes"]] == [True] * 3
    (differs,) = report["differing"]
    assert differs.startswith("cann_runtime differs: ")
    told, _, consequence = differs.removeprefix("cann_runtime differs: ").partition(" (HCCL ")
    assert "EI0008" in consequence
    (other,) = [part for part in told.split("; ") if part.startswith("7.9:8.2.RC1 on ")]
    assert other.endswith("(127.0.0.3)")
    assert other.count("127.0.0.") == 1


def damaged_node(cluster: LocalCluster) -> None:
    cluster.sites[1].write("verl/trainer.py", b"# lost\n")
    done = cluster.run()
    assert done.returncode == 1
    text = done.stdout.decode()
    states = re.findall(r"^\S+ +([0-9.]+) .* (\w+)$", text, re.MULTILINE)
    assert {state for address, state in states if address != "127.0.0.2"} == {"intact"}
    assert ("127.0.0.2", "damaged") in states
    said = "(127.0.0.2) differs from the 2 that agree:\n  modified: 1 file differs from what was built: verl/trainer.py"
    assert said in text
    assert "3 nodes: 2 agree, 1 differ, 0 did not answer" in text


def node_without_the_package_and_stopped_node(cluster: LocalCluster) -> None:
    """A node without the package answers too, and a stopped one is not waited for without end."""
    shutil.rmtree(cluster.sites[1].path("verl_npu_summary"))
    stopped = cluster.processes(3)
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    began = time.monotonic()
    code, report = cluster.verify("--timeout", "15")
    took = time.monotonic() - began
    for process in stopped:
        os.kill(process, signal.SIGCONT)
    problems = by_node(report, "problem")
    assert (code, took < 120) == (2, True)
    assert problems["127.0.0.3"].startswith(("no answer within 15 s", "dead"))
    assert "No module named verl_npu_summary" in problems["127.0.0.2"]
    assert problems["head"] == ""


def dead_node(cluster: LocalCluster) -> None:
    for process in cluster.processes(3):
        os.kill(process, signal.SIGKILL)
    code, report = cluster.verify("--timeout", "20")
    problems = by_node(report, "problem")
    assert problems.keys() == {"head", "127.0.0.2", "127.0.0.3"}
    assert (code, problems["127.0.0.3"] != "") == (2, True)
