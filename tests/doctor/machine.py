"""A machine on disk: a root folder, a site folder, variables and commands, healthy until a test makes it ill."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import shutil
import sys
from functools import cache
from typing import TYPE_CHECKING

from npu_doctor import knowledge
from npu_doctor.context import Context
from npu_doctor.examination import examine
from npu_doctor.system import System

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from npu_doctor.knowledge import Knowledge
    from npu_doctor.model import Row
    from npu_doctor.report import Diagnosis
    from npu_summary.changes import Changes

MINDSPEED = "1cdd0abd75e40936ad31721c092f57c695dd72c4"
ATB = "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1"
TOOLKIT = "/usr/local/Ascend/ascend-toolkit/latest"
RECORDS = ("runtime", "compiler", "hccl", "opp", "toolkit", "opp_kernel")

SMI = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.3.rc1                 Version: 25.3.rc1                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 95.0        43                0    / 0             |
| 0                         | 0000:5A:00.0  | 0           0    / 0          3394 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | OK            | 96.1        44                0    / 0             |
| 0                         | 0000:19:00.0  | 0           0    / 0          3394 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| No running processes found in NPU 0                                                            |
+===========================+===============+====================================================+
| No running processes found in NPU 1                                                            |
+===========================+===============+====================================================+
"""

SOCKETS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14053 1
   1: 0100007F:EA61 0100007F:0016 01 00000000:00000000 00:00000000 00000000     0        0 14054 1
"""
RAY = """\
def get_current_node_num_accelerators():
    # NPU chips are devices of the form "/dev/davinci?".
    return len(glob.glob("{pattern}"))
"""


@cache  # it takes as long as examining a machine, and is the same for all of them
def _known() -> Knowledge:
    return knowledge.load()


class Machine:
    """A healthy machine with the stack vllm-0.11.

    Attributes:
        root: what stands for ``/``.
        site: what stands for site-packages.
        env: its variables.
        path: what Python imports from.
        patience: how many seconds its commands may take.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.site = folder / "site"
        self.bin = folder / "bin"
        self.clones = folder / "clones"
        for made in (self.root, self.site, self.bin, self.clones):
            made.mkdir(parents=True)
        self.machine = "aarch64"
        self.python = "3.10.13"
        self.patience = math.inf
        self.env: dict[str, str] = {}
        self.path = [str(self.site)]
        self._toolkit("8.3.RC1", "V100R001C23SPC001B235")
        self._driver()
        self._variables()
        self._python_packages()

    def file(self, path: str, content: str | bytes = "") -> Path:
        """Write a file of the machine."""
        return write(self.root / path.lstrip("/"), content)

    def remove(self, path: str) -> None:
        """Remove a file or folder of the machine."""
        target = self.root / path.lstrip("/")
        shutil.rmtree(target) if target.is_dir() else target.unlink()

    def command(self, name: str, output: str, *, code: int = 0) -> None:
        """Put a command on PATH that prints the output."""
        said = write(self.bin / f".{name}.txt", output)
        script = write(self.bin / name, f"#!/bin/sh\n/bin/cat '{said}'\nexit {code}\n")
        script.chmod(0o755)

    def module(self, path: str, content: str = "") -> Path:
        """Write a file below site-packages."""
        return write(self.site / path, content)

    def install(
        self,
        name: str,
        version: str,
        files: Mapping[str, str] | None = None,
        *,
        requires: Sequence[str] = (),
        direct_url: object = None,
    ) -> Path:
        """Install a distribution; an older one of the name goes."""
        self.uninstall(name)
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
        write(info / "METADATA", "Metadata-Version: 2.1\n" + "\n".join(lines) + "\n\nA description: not a field\n")
        for path, content in (files or {}).items():
            write(self.site / path, content)
        write(info / "RECORD", "".join(f"{path},{recorded(self.site / path)},1\n" for path in files or {}))
        if direct_url is not None:
            write(info / "direct_url.json", json.dumps(direct_url))
        return info

    def uninstall(self, name: str) -> None:
        """Remove a distribution's metadata and the files of its record."""
        for info in self.site.glob(f"{name.replace('-', '_')}-*.dist-info"):
            for line in (info / "RECORD").read_text().splitlines():
                (self.site / line.split(",")[0]).unlink(missing_ok=True)
            shutil.rmtree(info)

    def system(self) -> System:
        """Return it as the doctor sees it."""
        return System(
            root=str(self.root),
            env=self.env,
            path=self.path,
            explicit_path=True,
            executable=sys.executable,
            machine=self.machine,
            python=self.python,
            patience=self.patience,
        )

    def report(self, stack: str = "", *, deterministic: bool = False, imports: bool = False) -> Diagnosis:
        """Examine it."""
        return examine(self.context(stack, deterministic=deterministic, imports=imports))

    def context(self, stack: str = "", *, deterministic: bool = False, imports: bool = False) -> Context:
        """Return what its checks are given."""
        known = _known()
        chosen = known.stack(stack) if stack else None
        return Context(
            system=self.system(), knowledge=known, stack=chosen, deterministic=deterministic, imports=imports
        )

    def rows(self, symptom: int, *, imports: bool = False) -> list[Row]:
        """Return the rows about one symptom."""
        return [row for row in self.report(imports=imports).rows if row.symptom == symptom]

    def _toolkit(self, version: str, inner: str) -> None:
        families = ",".join(f"[V100R001C{number}]" for number in (15, 18, 19, 20, 21, 23))
        lines = ["package_name=Ascend-cann-toolkit", f"version={version}", f"innerversion={inner}"]
        lines += [f"compatible_version={families}", "arch=aarch64", "os=linux", f"path={TOOLKIT}"]
        self.file(f"{TOOLKIT}/aarch64-linux/ascend_toolkit_install.info", "\n".join(lines) + "\n")
        self.version_cfg(dict.fromkeys(RECORDS, f"[8.0.0.1.235:{version}]"))
        for folder in ("runtime", "compiler", "opp"):
            self.file(f"{TOOLKIT}/{folder}/version.info", "Version=8.0.0\n")
        self.file(
            "/usr/local/Ascend/nnal/atb/latest/version.info", f"    Ascend-cann-atb : {version}\n    Platform : x\n"
        )
        self.file(f"{ATB}/lib/libatb.so")
        self.acl("return 2, 0")

    def acl(self, body: str) -> None:
        """Write CANN's Python module, with the body of what Ray asks it."""
        asked = f"class rt:\n    @staticmethod\n    def get_device_count():\n        {body}\n"
        self.file(f"{TOOLKIT}/python/site-packages/acl.py", asked)

    def version_cfg(self, versions: Mapping[str, str]) -> None:
        """Write the toolkit's version.cfg."""
        lines = [f"{name}_running_version={version}" for name, version in versions.items()]
        self.file(f"{TOOLKIT}/version.cfg", "# version: 1.0\n" + "\n".join(lines) + "\n")

    def _driver(self) -> None:
        lines = ["Version=25.3.rc1", "ascendhal_version=7.35.23", "Innerversion=V100R001C23SPC002B212"]
        lines += ["compatible_version=[V100R001C19],[V100R001C23]", "compatible_version_fw=[7.0.0,8.9.9]"]
        self.file("/usr/local/Ascend/driver/version.info", "\n".join([*lines, "package_version=25.3.rc1"]) + "\n")
        self.file("/usr/local/Ascend/driver/lib64/libdrv.so")
        self.file("/usr/local/Ascend/firmware/version.info", "Version=7.8.0.5.216\npackage_version=25.3.rc1\n")
        self.file("/usr/local/dcmi/libdcmi.so")
        self.file("/proc/net/tcp", SOCKETS.format(port=22))
        for name in ("davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc"):
            self.file(f"/dev/{name}")
        self.command("npu-smi", SMI)

    def _variables(self) -> None:
        gomp = "/usr/lib/aarch64-linux-gnu/libgomp.so.1"
        self.file(gomp)
        self.env |= {
            "PATH": str(self.bin),
            "ASCEND_HOME_PATH": TOOLKIT,
            "ASCEND_OPP_PATH": f"{TOOLKIT}/opp",
            "ATB_HOME_PATH": ATB,
            "LD_LIBRARY_PATH": f"{ATB}/lib:{TOOLKIT}/lib64",
            "LD_PRELOAD": gomp,
            "HCCL_HOST_SOCKET_PORT_RANGE": "auto",
            "HCCL_NPU_SOCKET_PORT_RANGE": "60000-60050",
            "HCCL_CONNECT_TIMEOUT": "1800",
            "VLLM_ASCEND_ENABLE_NZ": "0",
            "VLLM_ALL2ALL_BACKEND": "flashinfer_all2allv",
            "VLLM_VERSION": "0.11.0",
            "PYTORCH_NPU_ALLOC_CONF": "max_split_size_mb:256",
        }
        self.path.append(str(self.root / TOOLKIT.lstrip("/") / "python/site-packages"))

    def _python_packages(self) -> None:
        self.install_torch("2.7.1")
        self.install_torch_npu("2.7.1")
        self.install("torchvision", "0.22.1", {"torchvision/__init__.py": ""}, requires=["torch (==2.7.1)"])
        self.install("numpy", "1.26.4", {"numpy/__init__.py": ""})
        self.install("opencv-python-headless", "4.11.0.86", {"cv2/__init__.py": ""})
        self.install("tokenizers", "0.22.0")
        self.install("tensordict", "0.10.0", {"tensordict/__init__.py": ""}, requires=["torch", "numpy"])
        self.install_ray("2.46.0", "/dev/davinci?")
        self.install("triton-ascend", "3.2.0rc4", {"triton/__init__.py": "", "triton/language/__init__.py": ""})
        for module in ("decorator", "attr", "psutil", "scipy", "cffi", "yaml", "sympy", "google/protobuf", "absl"):
            self.module(f"{module}/__init__.py")
        self._transformers()
        self.install_verl("0.6.1")
        self.install_vllm("0.11.0+empty")
        self.install_vllm_ascend("0.11.0rc1")
        self.install_megatron()

    def install_torch(self, version: str, *, cuda: str = "", abi: int = 1) -> None:
        """Install torch as its wheel lays it down."""
        files = {
            "torch/__init__.py": "class _C:\n    _GLIBCXX_USE_CXX11_ABI = True\n",
            "torch/version.py": f"cuda: Optional[str] = {repr(cuda) if cuda else None}\n",
            "torch/share/cmake/Torch/TorchConfig.cmake": f'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI={abi}")\n',
        }
        self.install("torch", version, files)

    def install_torch_npu(self, version: str, *, options: str = "", setter: bool = False) -> None:
        """Install torch_npu with a library that knows the five options every release knows."""
        known = "max_split_size_mb garbage_collection_threshold expandable_segments base_addr_aligned_kb page_size"
        memory = "def _set_allocator_settings(settings): ...\n" if setter else "\n"
        files = {
            "torch_npu/__init__.py": "",
            "torch_npu/npu/memory.py": memory,
            "torch_npu/lib/libtorch_npu.so": f"\0{known} {options}\0",
        }
        self.install("torch-npu", version, files, requires=["torch==2.7.1"])

    def _transformers(self) -> None:
        names = ("npu_flash_attn_func", "index_first_axis", "pad_input", "unpad_input")
        npu = "".join(f"def {name}(): ...\n" for name in names)
        files = {
            "transformers/__init__.py": "",
            "transformers/modeling_utils.py": "if is_torch_npu_available(): ...\n",
            "transformers/modeling_flash_attention_utils.py": "from .integrations import npu_flash_attention\n",
            "transformers/integrations/__init__.py": "",
            "transformers/integrations/npu_flash_attention.py": npu,
        }
        self.install("transformers-npu", "4.56.1+npu.1.g91393fe", files)
        self.install("transformers", "4.56.1+npu.1.g91393fe", requires=["transformers-npu"])

    def install_verl(self, version: str) -> None:
        """Install the patched verl and its companion."""
        padding = "from transformers.integrations.npu_flash_attention import index_first_axis, unpad_input\n"
        rollout = "from vllm import LLM\nfrom vllm.lora.models import LoRAModel\n"
        rollout += "try:\n    import vllm.gone\nexcept ImportError:\n    pass\n"
        files = {
            "verl/__init__.py": "",
            "verl/workers/roles/utils/padding.py": padding,
            "verl/utils/vllm/__init__.py": "",
            "verl/utils/vllm/patch.py": rollout,
            "verl/utils/npu/allocator.py": "",
        }
        self.install("verl-npu", f"{version}+npu.1.gd62da49", files)
        self.install(
            "verl", f"{version}+npu.1.gd62da49", requires=["tensordict<=0.10.0", 'vllm<=0.11.0; extra == "vllm"']
        )

    def install_vllm(self, version: str, **files: str) -> None:
        """Install vllm."""
        envs = 'VLLM_ALL2ALL_BACKEND: Literal["naive", "flashinfer_all2allv"] = "naive"\n'
        own = {"vllm/__init__.py": "", "vllm/lora/__init__.py": "", "vllm/lora/models.py": "", "vllm/envs.py": envs}
        self.install("vllm", version, {**own, **files}, requires=["numpy", "transformers>=4.55.2"])

    def install_vllm_ascend(self, version: str, *, soc: str = "ascend910b3", sleep: bool = True) -> None:
        """Install vllm-ascend as built on this machine."""
        body = "        torch.npu.empty_cache()\n"
        refusal = 'assert "expandable_segments:True" not in PYTORCH_NPU_ALLOC_CONF\n'
        files = {
            "vllm_ascend/__init__.py": "",
            "vllm_ascend/envs.py": 'x = {"VLLM_ASCEND_ENABLE_NZ": 1}\n',
            "vllm_ascend/_build_info.py": f"__soc_version__ = '{soc}'\n__sleep_mode_enabled__ = {sleep}\n",
            "vllm_ascend/vllm_ascend_C.cpython-310-aarch64-linux-gnu.so": "",
            "vllm_ascend/worker/worker_v1.py": f"class Worker:\n    def sleep(self, level):\n{body}",
            "vllm_ascend/device_allocator/camem.py": refusal,
            "vllm_ascend/attention.py": 'from vllm import LLM\nold = vllm_version_is("0.10.2")\n',
        }
        self.install("vllm-ascend", version, files, requires=["torch-npu==2.7.1", "numpy<2.0.0"])

    def install_ray(self, version: str, pattern: str) -> None:
        """Install a Ray that counts devices by a pattern where acl does not answer."""
        files = {"ray/__init__.py": "", "ray/_private/accelerators/npu.py": RAY.format(pattern=pattern)}
        self.install("ray", version, files)

    def install_mindspeed(self, patches: str, adaptor: str = "def repatch(args): ...\n") -> None:
        """Write MindSpeed's manager of patches, and what puts them in force."""
        write(self.clones / "MindSpeed" / "mindspeed" / "patch_utils.py", patches)
        write(self.clones / "MindSpeed" / "mindspeed" / "megatron_adaptor.py", adaptor)

    def install_megatron(self) -> None:
        """Put a clone of Megatron-LM and one of MindSpeed on the path."""
        for path in ("megatron/core/__init__.py", "megatron/training/__init__.py"):
            write(self.clones / "Megatron-LM" / path, "")
        clone(self.clones / "Megatron-LM", "a" * 40)
        info = self.clones / "Megatron-LM" / "megatron_core.egg-info"
        write(info / "PKG-INFO", "Name: megatron-core\nVersion: 0.12.1\n")
        for path in ("mindspeed/__init__.py", "mindspeed/megatron_adaptor.py"):
            write(self.clones / "MindSpeed" / path, "")
        clone(self.clones / "MindSpeed", MINDSPEED)
        write(self.clones / "MindSpeed" / "mindspeed.egg-info" / "PKG-INFO", "Name: mindspeed\nVersion: 0.12.1\n")
        self.path += [str(self.clones / "Megatron-LM"), str(self.clones / "MindSpeed")]


def changes(overlay: str, *layers: str) -> Changes:
    """Return what a wheel of an overlay says of itself, ``verl@d62da49``."""
    project = overlay.partition("@")[0]
    return {
        "schema": 1,
        "distribution": {"name": f"{project}-npu", "version": "0.6.1+npu.1.aa67dd50"},
        "purpose": "NPU",
        "upstream": {
            "project": project,
            "version": "0.6.1",
            "repository": f"https://example.invalid/{project}",
            "commit": "d" * 40,
            "tag": "",
            "source": {"kind": "archive", "archive": f"{project}-0.6.1-py3-none-any.whl"},
            "compared": True,
            "missing": ["x", "y"],
        },
        "overlay": {"name": overlay, "revision": 1, "layers": list(layers), "sha256": "0" * 64},
        "requires": [],
        "pairs": [],
        "companion": project,
        "not_built": [],
        "files": [],
        "not_applied": [],
    }


def clone(folder: Path, commit: str, branch: str = "") -> None:
    """Make a folder look like a clone at a commit, on a branch or detached."""
    write(folder / ".git" / "HEAD", f"ref: refs/heads/{branch}\n" if branch else f"{commit}\n")
    if branch:
        write(folder / ".git" / "refs" / "heads" / branch, f"{commit}\n")


def write(path: Path, content: str | bytes) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def recorded(path: Path) -> str:
    """Return a file's digest as RECORD has it."""
    digest = hashlib.sha256(path.read_bytes()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
