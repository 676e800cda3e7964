"""Whatever the files and commands hold, the doctor gives a report."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from npu_doctor.model import LEVELS
from support.marks import rarely

from .machine import SMI, TOOLKIT, Machine, write

pytestmark = pytest.mark.slow

INFO = "aarch64-linux/ascend_toolkit_install.info"
FILES = {
    "toolkit": f"root{TOOLKIT}/{INFO}",
    "version.cfg": f"root{TOOLKIT}/version.cfg",
    "driver": "root/usr/local/Ascend/driver/version.info",
    "firmware": "root/usr/local/Ascend/firmware/version.info",
    "nnal": "root/usr/local/Ascend/nnal/atb/latest/version.info",
    "npu-smi": "bin/.npu-smi.txt",
    "metadata": "site/torch-2.7.1.dist-info/METADATA",
    "requires": "site/vllm_ascend-0.11.0rc1.dist-info/METADATA",
    "record": "site/triton_ascend-3.2.0rc4.dist-info/RECORD",
    "direct_url": "site/vllm-0.11.0+empty.dist-info/direct_url.json",
    "finder": "site/__editable___x_finder.py",
    "build info": "site/vllm_ascend/_build_info.py",
    "source": "site/verl/utils/vllm/patch.py",
    "npu attention": "site/transformers/integrations/npu_flash_attention.py",
    "torch version": "site/torch/version.py",
    "cmake": "site/torch/share/cmake/Torch/TorchConfig.cmake",
    "library": "site/torch_npu/lib/libtorch_npu.so",
    "head": "clones/MindSpeed/.git/HEAD",
    "pointer": "root/etc/Ascend/ascend_cann_install.info",
    "egg": "clones/Megatron-LM/megatron_core.egg-info/PKG-INFO",
    "egg requires": "clones/Megatron-LM/megatron_core.egg-info/requires.txt",
    "git file": "site/.git",
    "packed": "clones/Megatron-LM/.git/packed-refs",
    "common": "clones/Megatron-LM/.git/commondir",
    "branch": "clones/Megatron-LM/.git/refs/heads/x",
    "branch head": "clones/Megatron-LM/.git/HEAD",
    "triton": "site/triton/__init__.py",
    "triton language": "site/triton/language/__init__.py",
    "kernels": "site/triton_kernels/core.py",
    "vllm names": "site/vllm/envs.py",
    "vllm-ascend names": "site/vllm_ascend/envs.py",
    "worker": "site/vllm_ascend/worker/worker_v1.py",
    "memory pool": "site/vllm_ascend/device_allocator/camem.py",
    "extension": "site/vllm_ascend/vllm_ascend_C.cpython-310-aarch64-linux-gnu.so",
    "setter": "site/torch_npu/npu/memory.py",
    "dispatch": "site/transformers/modeling_utils.py",
    "ray": "site/ray/_private/accelerators/npu.py",
    "sockets": "root/proc/net/tcp",
    "more sockets": "root/proc/net/tcp6",
    "process": "root/proc/7/comm",
    "package": "site/verl/__init__.py",
    "libgomp": "root/usr/lib/aarch64-linux-gnu/libgomp.so.1",
    "device": "root/dev/davinci0",
}
# Real content cut up and put together anew reaches further than noise.
SEEDS = [*SMI.splitlines(), "version=8.3.RC1", "compatible_version_fw=[7.0.0,8.9.9]", "Name: torch", "Version: ", "="]
SEEDS += [
    "runtime_running_version=[8.0:8.3.RC1]",
    "Requires-Dist: torch (==2.7.1) ; (python_version",
    "MAPPING = {",
    "}",
]
SEEDS += ["  0: 0100007F:EA61 0100007F:0016 0A 0", "gitdir: ", 'glob("/dev/davinci?")', "tl.constexpr_function"]
SEEDS += ["def sleep(self):", "    import vllm, vllm.", "import vllm.a, vllm.b", "from vllm.gone import", '"""']
SEEDS += ["ref: refs/heads/", "from vllm import", '{"vcs_info": {"commit_id": 1}}', '{"dir_info": []}', "9" * 5000]
CONTENT = st.one_of(
    st.binary(max_size=300),
    st.lists(st.one_of(st.sampled_from(SEEDS), st.text(max_size=20)), max_size=12).map(
        lambda parts: "\n".join(parts).encode("utf-8", "surrogatepass")
    ),
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(st.sampled_from(["url", "vcs_info", "dir_info", "commit_id", "editable"]), inner)
            | st.lists(inner)
        ),
    ).map(lambda value: json.dumps(value).encode()),
)


@cache
def folder() -> Path:
    """Make one machine for all examples; each puts back what it changed."""
    return Path(tempfile.mkdtemp(prefix="doctor-"))


@pytest.fixture(scope="module")
def shared() -> object:
    yield None
    shutil.rmtree(folder(), ignore_errors=True)


@cache
def machine() -> Machine:
    return Machine(folder())


def report_is_whole() -> None:
    report = machine().report("vllm-0.11")
    assert {row.level for row in report.rows} <= set(LEVELS)
    assert report.exit_code in {0, 1, 2}
    failed = [row for row in report.rows if row.found == "could not be told"]
    assert failed == [], "a check failed instead of saying what it could not read"
    assert report.to_text().isprintable() is False  # line ends only
    assert all(line.isprintable() for line in report.to_text().splitlines())
    assert json.loads(report.to_json())["schema"] == 1


LENIENT = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.thorough
@pytest.mark.usefixtures("shared")
@given(name=st.sampled_from(sorted(FILES)), content=CONTENT)
@settings(max_examples=150, deadline=None, suppress_health_check=LENIENT)
@example(name="metadata", content=b"\xff\xfe\x00")
@example(name="metadata", content=b"Name: torch\nVersion: " + b"9" * 5000)
@example(name="toolkit", content=b"version=8." + b"9" * 5000)
@example(name="direct_url", content=b"[" * 100_000)
@example(name="finder", content=b"MAPPING = {" + b"[" * 5000 + b"}")
@example(name="library", content=b"")
@example(name="source", content=b"from vllm import x\0")
@example(name="npu-smi", content=b"| 0 | 1 |\n| 9 X | OK | / |\nProcess id\n| a | 1 | b | 99999999999999999999 |\n")
def test_any_content_of_any_file_gives_a_report(name: str, content: bytes) -> None:
    path = folder() / FILES[name]
    machine()
    before = path.read_bytes() if path.is_file() else None
    write(path, content)
    try:
        report_is_whole()
    finally:
        path.unlink() if before is None else path.write_bytes(before)


@pytest.mark.usefixtures("shared")
@given(
    name=st.sampled_from(
        [
            "ASCEND_HOME_PATH",
            "ATB_HOME_PATH",
            "LD_LIBRARY_PATH",
            "LD_PRELOAD",
            "PYTORCH_NPU_ALLOC_CONF",
            "VLLM_VERSION",
            "HCCL_CONNECT_TIMEOUT",
            "HCCL_HOST_SOCKET_PORT_RANGE",
            "VLLM_ATTENTION_BACKEND",
            "PATH",
            "EXPANDABLE_SEGMENTS",
            "PYTORCH_CUDA_ALLOC_CONF",
            "HCCL_NPU_SOCKET_PORT_RANGE",
            "HCCL_IF_BASE_PORT",
            "ASCEND_RT_VISIBLE_DEVICES",
            "VLLM_ALL2ALL_BACKEND",
            "ASCEND_TOOLKIT_HOME",
        ]
    ),
    value=st.one_of(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40),
        st.from_regex(r"[a-z0-9:,\-/%.]{0,30}", fullmatch=True),
    ),
)
@settings(max_examples=80, deadline=None, suppress_health_check=LENIENT)
def test_any_value_of_any_variable_gives_a_report(name: str, value: str) -> None:
    ill = machine()
    before = ill.env.get(name)
    ill.env[name] = value
    try:
        report_is_whole()
    finally:
        ill.env.pop(name)
        ill.env |= {} if before is None else {name: before}


STATES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a folder": lambda path: path.mkdir(),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("gone"),
    "a pipe that nobody writes to": os.mkfifo,
    "nothing at all in it": lambda path: path.touch(),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "one huge line": lambda path: path.write_bytes(b"9=" * (3 << 20)),
    "one that may not be read": lambda path: path.write_text("version=1\n"),
}


# Each is read in another way; those that are read as one of these are left to `make test-rest`.
TELLING = {
    "branch head",
    "build info",
    "cmake",
    "device",
    "direct_url",
    "egg requires",
    "extension",
    "finder",
    "git file",
    "kernels",
    "libgomp",
    "library",
    "metadata",
    "npu-smi",
    "packed",
    "pointer",
    "process",
    "ray",
    "record",
    "sockets",
    "toolkit",
    "version.cfg",
}


@pytest.mark.parametrize("name", [*sorted(TELLING), *rarely(*sorted(FILES.keys() - TELLING))])
def test_whatever_stands_in_a_files_place_gives_a_report(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, path = Machine(tmp_path), tmp_path / FILES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    for state, make in STATES.items():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        make(path)
        # What is printed from a pipe never comes.
        own.patience = 1 if path.is_fifo() else math.inf
        with monkeypatch.context() as patched:
            if state == "one that may not be read":
                patched.setattr("builtins.open", refusing(path))  # root may read whatever the mode says
            report = own.report("vllm-0.11")
        assert [row for row in report.rows if row.found == "could not be told"] == [], state


def refusing(path: Path) -> Callable[..., Any]:
    """Return an `open` that may not read one file."""
    really = open

    def refuse(file: Any, *arguments: Any, **options: Any) -> Any:
        if str(file) == str(path):
            raise PermissionError(13, "Permission denied", str(file))
        return really(file, *arguments, **options)

    return refuse


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x00\x01", b"#!/nowhere\n", None])
def test_an_npu_smi_that_cannot_be_run_is_unknown(tmp_path: Path, content: bytes | None) -> None:
    own = Machine(tmp_path)
    script = own.bin / "npu-smi"
    script.write_bytes(content or b"")
    script.chmod(0o644 if content is None else 0o755)
    rows = [row for row in own.report().rows if row.component == "npu-smi info"]
    assert [row.level for row in rows] == ["unknown"], rows


def test_an_empty_machine_gives_a_report(tmp_path: Path) -> None:
    own = Machine(tmp_path)
    for made in (own.root, own.site, own.bin, own.clones):
        shutil.rmtree(made)
    own.env.clear()
    report = own.report("vllm-0.11", imports=True)
    assert report.exit_code == 1
    assert [row for row in report.rows if row.found == "could not be told"] == []


def test_a_check_that_fails_is_a_row_and_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Machine(tmp_path)
    monkeypatch.setattr("npu_doctor.packages.Packages.get", lambda *_: 1 / 0)
    report = own.report()
    failed = [row for row in report.rows if row.found == "could not be told"]
    assert failed
    assert all("ZeroDivisionError" in row.why for row in failed)
    assert [row for row in report.rows if row.component == "HCCL_CONNECT_TIMEOUT"]
    assert report.exit_code == 2
