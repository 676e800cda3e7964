"""Every symptom users report: a machine in exactly that state has its row, and the healthy twin has a good one."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from npu_doctor import knowledge
from support.mindspeed import patch_utils

from .machine import ATB, SMI, SOCKETS, TOOLKIT, Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    Ill = Callable[[Machine], None]
    Case = tuple[int, str, str, str, Ill]

CASES: list[Case] = []
GOMP = "/usr/lib/aarch64-linux-gnu/libgomp.so.1"


def ill(symptom: int, level: str, component: str, found: str) -> Callable[[Ill], Ill]:
    """Register a state with the row it must have: level, component and a part of what was found."""

    def register(make: Ill) -> Ill:
        CASES.append((symptom, level, component, found, make))
        return make

    return register


@ill(1, "broken", "torch on x86", "2.7.1")
def x86_with_the_index_torch(machine: Machine) -> None:
    machine.machine = "x86_64"


@ill(1, "broken", "torch on x86", "not installed")
def x86_without_torch(machine: Machine) -> None:
    machine.machine = "x86_64"
    machine.uninstall("torch")


@ill(2, "broken", "torch for torch_npu", "2.8.0")
def torch_of_vllm_instead_of_torch_npu(machine: Machine) -> None:
    machine.install_torch("2.8.0")


@ill(2, "broken", "vllm build", "CUDA code (_C.abi3.so)")
def vllm_built_for_cuda(machine: Machine) -> None:
    machine.install_vllm("0.11.0", **{"vllm/_C.abi3.so": ""})


@ill(2, "compatible", "torch for vllm", "2.7.1")
def vllm_that_asks_for_another_torch(machine: Machine) -> None:
    machine.install("vllm", "0.11.0", {"vllm/__init__.py": ""}, requires=["torch==2.8.0"])


@ill(3, "compatible", "torch_npu for vllm-ascend", "2.7.1")
def vllm_ascend_that_asks_for_the_mirrors_build(machine: Machine) -> None:
    machine.install("vllm-ascend", "0.10.0rc1", requires=["torch-npu==2.7.1.dev20250724"])


@ill(3, "broken", "torch_npu for vllm-ascend", "not installed")
def vllm_ascend_that_cannot_have_the_mirrors_build(machine: Machine) -> None:
    machine.uninstall("torch-npu")
    machine.install("vllm-ascend", "0.10.0rc1", requires=["torch-npu==2.7.1.dev20250724"])


@ill(4, "broken", "torch with torchvision 0.20.1", "2.7.1")
def torchvision_of_requirements_npu(machine: Machine) -> None:
    machine.install("torchvision", "0.20.1", {"torchvision/__init__.py": ""})


@ill(5, "broken", "numpy", "2.4.6")
def numpy_2(machine: Machine) -> None:
    machine.install("numpy", "2.4.6", {"numpy/__init__.py": ""})


@ill(5, "broken", "opencv-python-headless", "4.12.0.88")
def opencv_that_pulls_numpy_2(machine: Machine) -> None:
    machine.install("opencv-python-headless", "4.12.0.88")


@ill(6, "broken", "Python modules of CANN", "missing: attr, absl")
def cann_without_its_modules(machine: Machine) -> None:
    (machine.site / "attr" / "__init__.py").unlink()
    (machine.site / "attr").rmdir()
    (machine.site / "absl" / "__init__.py").unlink()
    (machine.site / "absl").rmdir()


@ill(7, "broken", "vllm for verl", "vllm.lora.lora_model (utils/vllm/newer.py:2)")
def verl_newer_than_vllm(machine: Machine) -> None:
    machine.module("verl/utils/vllm/newer.py", "import os\nfrom vllm.lora.lora_model import LoRAModel\n")


@ill(7, "broken", "vllm for verl", "vllm.lora.models")
def vllm_newer_than_verl(machine: Machine) -> None:
    (machine.site / "vllm" / "lora" / "models.py").unlink()


@ill(7, "compatible", "vllm with verl 0.6.1+npu.1.gd62da49", "0.12.0")
def vllm_newer_than_verl_was_tried_with(machine: Machine) -> None:
    machine.install_vllm("0.12.0")


@ill(7, "compatible", "vllm with verl_commit 796871d", "0.10.1")
def the_verl_of_mindspeed_rl_with_its_vllm(machine: Machine) -> None:
    machine.install_vllm("0.10.1")
    machine.install("verl", "0.5.0.dev0+npu.1.g796871d", {"verl/__init__.py": ""})
    machine.install("verl-npu", "0.5.0.dev0+npu.1.g796871d", {"verl/__init__.py": ""})


@ill(7, "unknown", "verl", "0.8.0.dev0")
def verl_from_its_main_branch(machine: Machine) -> None:
    machine.uninstall("verl-npu")
    record = {"url": "https://x.invalid/verl", "vcs_info": {"vcs": "git", "commit_id": "c" * 40}}
    machine.install("verl", "0.8.0.dev0", {"verl/__init__.py": ""}, direct_url=record)


@ill(7, "broken", "triton.language for triton_kernels", "has no constexpr_function, which core.py needs")
def kernels_newer_than_triton(machine: Machine) -> None:
    machine.module("triton_kernels/__init__.py")
    machine.module("triton_kernels/core.py", "import triton.language as tl\n\n@tl.constexpr_function\ndef f(): ...\n")


@ill(8, "broken", "version of vllm", "0.11.0+empty, VLLM_VERSION not set")
def empty_vllm_without_its_version_said(machine: Machine) -> None:
    del machine.env["VLLM_VERSION"]


@ill(8, "broken", "version of vllm", "VLLM_VERSION=main")
def vllm_version_said_wrongly(machine: Machine) -> None:
    machine.env["VLLM_VERSION"] = "main"


@ill(9, "broken", "chip of vllm-ascend", "built for ASCEND310P3, npu-smi shows 910B3")
def vllm_ascend_for_another_chip(machine: Machine) -> None:
    machine.install_vllm_ascend("0.11.0rc1", soc="ASCEND310P3")


@ill(9, "compatible", "chip of vllm-ascend", "built for ASCEND910B1, npu-smi shows 910B3")
def vllm_ascend_of_the_index_on_another_910b(machine: Machine) -> None:
    machine.install_vllm_ascend("0.11.0rc1", soc="ASCEND910B1")


@ill(9, "broken", "chip of vllm-ascend", "npu-smi shows Ascend910")
def vllm_ascend_of_the_index_on_an_a3(machine: Machine) -> None:
    machine.install_vllm_ascend("0.11.0rc1", soc="ASCEND910B1")
    machine.command("npu-smi", SMI.replace("910B3     ", "Ascend910 "))


@ill(10, "broken", "ASCEND_HOME_PATH", "not set")
def cann_not_sourced(machine: Machine) -> None:
    del machine.env["ASCEND_HOME_PATH"]


@ill(10, "broken", "ASCEND_HOME_PATH", "/opt/gone, which does not exist")
def cann_sourced_from_a_place_that_is_gone(machine: Machine) -> None:
    machine.env["ASCEND_HOME_PATH"] = "/opt/gone"


@ill(10, "broken", "ASCEND_HOME_PATH", "without compiler")
def cann_without_its_compiler(machine: Machine) -> None:
    machine.remove(f"{TOOLKIT}/compiler")


@ill(11, "broken", "ATB_HOME_PATH", "not set")
def nnal_not_sourced(machine: Machine) -> None:
    del machine.env["ATB_HOME_PATH"]


@ill(11, "broken", "ATB_HOME_PATH", "without lib/libatb.so")
def nnal_without_its_library(machine: Machine) -> None:
    machine.remove(f"{ATB}/lib/libatb.so")


@ill(12, "broken", "import torch_npu", "OSError: libhccl.so: cannot open shared object file")
def torch_npu_that_hides_its_first_error(machine: Machine) -> None:
    machine.module(
        "torch_npu/__init__.py",
        "try:\n    raise OSError('libhccl.so: cannot open shared object file')\n"
        "except OSError as error:\n"
        "    raise RuntimeError('Failed to load the backend extension: torch_npu') from error\n",
    )


@ill(12, "broken", "import torch_npu", "the interpreter died (exit status -6): Fatal Python error: Aborted")
def torch_npu_that_kills_the_interpreter(machine: Machine) -> None:
    machine.module("torch_npu/__init__.py", "import os\nos.abort()\n")


@ill(13, "broken", "NNAL with CANN", "8.1.RC1")
def nnal_older_than_cann(machine: Machine) -> None:
    machine.file("/usr/local/Ascend/nnal/atb/latest/version.info", "    Ascend-cann-atb : 8.1.RC1\n")


@ill(13, "broken", "C++ ABI of NNAL", "cxx_abi_1")
def nnal_sourced_for_the_other_abi(machine: Machine) -> None:
    machine.install_torch("2.7.1", abi=0)


@ill(14, "broken", "triton", "triton 3.3.1 too")
def triton_over_triton_ascend(machine: Machine) -> None:
    machine.install("triton", "3.3.1", {"triton/__init__.py": "# upstream\n"})


@ill(14, "broken", "triton", "of its files are gone")
def triton_uninstalled_from_under_triton_ascend(machine: Machine) -> None:
    machine.install("triton", "3.3.1", {"triton/__init__.py": ""})
    machine.uninstall("triton")


@ill(15, "broken", "CUDA in torch", "built for CUDA 12.6, with a CUDA device")
def cuda_torch_beside_a_gpu(machine: Machine) -> None:
    machine.install_torch("2.7.1+cu126", cuda="12.6")
    machine.file("/dev/nvidia0")


@ill(15, "compatible", "CUDA in torch", "without a CUDA device")
def cuda_torch_without_a_gpu(machine: Machine) -> None:
    machine.install_torch("2.7.1+cu126", cuda="12.6")


@ill(16, "broken", "transformers.integrations.npu_flash_attention for verl", "index_first_axis (workers/roles")
def transformers_without_what_verl_imports(machine: Machine) -> None:
    machine.module("transformers/integrations/npu_flash_attention.py", "def npu_flash_attn_func(): ...\n")


@ill(17, "broken", "flash attention on the NPU", "no integrations/npu_flash_attention.py")
def transformers_before_the_npu(machine: Machine) -> None:
    (machine.site / "transformers/integrations/npu_flash_attention.py").unlink()


@ill(17, "broken", "flash attention on the NPU", "modeling_utils.py without the NPU")
def transformers_that_forgets_the_npu(machine: Machine) -> None:
    machine.module("transformers/modeling_utils.py", "if is_flash_attn_2_available(): ...\n")


@ill(18, "compatible", "libgomp in LD_PRELOAD", "not set")
def aarch64_without_libgomp_preloaded(machine: Machine) -> None:
    del machine.env["LD_PRELOAD"]


@ill(18, "compatible", "libgomp in LD_PRELOAD", "libother.so:/usr/lib")
def aarch64_with_libgomp_late(machine: Machine) -> None:
    machine.file("/opt/libother.so")
    machine.env["LD_PRELOAD"] = f"/opt/libother.so:{GOMP}"


@ill(18, "broken", "LD_PRELOAD", "/usr/local/lib/libjemalloc.so.2 does not exist")
def jemalloc_preloaded_that_is_not_there(machine: Machine) -> None:
    machine.env["LD_PRELOAD"] = f"/usr/local/lib/libjemalloc.so.2 {GOMP}"


@ill(19, "broken", "transformer_engine", "transformer-engine")
def transformer_engine_under_mindspeed(machine: Machine) -> None:
    machine.install("transformer-engine", "2.1.0", {"transformer_engine/__init__.py": ""})


@ill(20, "broken", "megatron.training", "not found")
def megatron_core_of_the_index(machine: Machine) -> None:
    machine.path.remove(str(machine.clones / "Megatron-LM"))
    machine.install("megatron-core", "0.12.1", {"megatron/core/__init__.py": ""})


@ill(20, "broken", "copies of megatron.core", "site, ")
def megatron_core_of_the_index_before_the_tree(machine: Machine) -> None:
    machine.install("megatron-core", "0.12.1", {"megatron/core/__init__.py": "# another\n"})


@ill(21, "broken", "PYTORCH_NPU_ALLOC_CONF with sleep mode", "expandable_segments:True")
def expandable_segments_with_sleep_mode(machine: Machine) -> None:
    machine.env["PYTORCH_NPU_ALLOC_CONF"] = "expandable_segments:True"


@ill(21, "broken", "EXPANDABLE_SEGMENTS", "torch_npu 2.7.1 has no _set_allocator_settings")
def switched_segments_without_the_setter(machine: Machine) -> None:
    machine.env["EXPANDABLE_SEGMENTS"] = "True"


@ill(21, "broken", "PYTORCH_NPU_ALLOC_CONF with sleep mode", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
def the_variable_for_gpus_that_vllm_ascend_looks_at(machine: Machine) -> None:
    machine.env["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    check = "assert 'expandable_segments:True' not in os.environ.get('PYTORCH_CUDA_ALLOC_CONF', '')\n"
    machine.module("vllm_ascend/device_allocator/camem.py", check)


@ill(21, "broken", "PYTORCH_NPU_ALLOC_CONF with sleep mode", "expandable_segments:True")
def expandable_segments_with_sglangs_memory_saver(machine: Machine) -> None:
    shutil.rmtree(machine.site / "vllm_ascend")
    machine.install("torch-memory-saver", "0.0.8", {"torch_memory_saver/__init__.py": ""})
    machine.env["PYTORCH_NPU_ALLOC_CONF"] = "page_size:1g,expandable_segments:True"


@ill(21, "broken", "EXPANDABLE_SEGMENTS", "verl 0.6.1 does not read the variable")
def switched_segments_with_upstreams_verl(machine: Machine) -> None:
    machine.env["EXPANDABLE_SEGMENTS"] = "True"
    machine.install_torch_npu("2.7.1.post2", setter=True)
    machine.uninstall("verl-npu")
    machine.install("verl", "0.6.1", {"verl/__init__.py": ""})


@ill(22, "broken", "sleep mode of vllm-ascend", "__sleep_mode_enabled__ = False")
def vllm_ascend_without_sleep_mode(machine: Machine) -> None:
    machine.install_vllm_ascend("0.11.0rc1", sleep=False)


@ill(22, "broken", "sleep mode of vllm-ascend", "cpython-310")
def vllm_ascend_for_another_python(machine: Machine) -> None:
    machine.python = "3.11.9"


@ill(23, "broken", "PYTORCH_NPU_ALLOC_CONF", "torch_npu 2.7.1 does not know segment_size_mb")
def allocator_option_newer_than_torch_npu(machine: Machine) -> None:
    machine.env["PYTORCH_NPU_ALLOC_CONF"] = "segment_size_mb:512"


@ill(23, "broken", "PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb with expandable_segments:True")
def allocator_options_that_exclude_each_other(machine: Machine) -> None:
    machine.env["PYTORCH_NPU_ALLOC_CONF"] = "max_split_size_mb:64,expandable_segments:True"


@ill(24, "compatible", "memory after sleep", "sleep does not empty the cache")
def vllm_ascend_that_sleeps_with_a_full_cache(machine: Machine) -> None:
    machine.module("vllm_ascend/worker/worker_v1.py", "class Worker:\n    def sleep(self, level):\n        pass\n")


@ill(24, "unknown", "memory after sleep", "sleep is not in its workers")
def vllm_ascend_without_a_sleep_to_read(machine: Machine) -> None:
    machine.module("vllm_ascend/worker/worker_v1.py", "class Worker: ...\n")


@ill(25, "broken", "memory of the devices", "NPU 1: VLLMWorker (pid 29726) 52795 MB")
def another_process_on_a_device(machine: Machine) -> None:
    row = "| 1       0                 | 29726         | VLLMWorker               | 52795                   |"
    machine.command("npu-smi", SMI.replace(SMI.splitlines()[-2], row))


@ill(25, "compatible", "memory of the devices", "NPU 0: python (pid 7) 120 MB")
def a_small_process_on_a_device(machine: Machine) -> None:
    row = "| 0       0                 | 7             | python                   | 120                     |"
    machine.command("npu-smi", SMI.replace(SMI.splitlines()[-2], row))


@ill(25, "broken", "memory that no process accounts for", "NPU 1: 60100 of 65536 MB")
def another_container_on_a_device(machine: Machine) -> None:
    first, second = SMI.split("| 1     910B3")
    machine.command("npu-smi", f"{first}| 1     910B3{second.replace(' 3394 /', '60100 /')}")


@ill(26, "broken", "VLLM_ASCEND_ENABLE_NZ", "not set")
def nz_weights_under_training(machine: Machine) -> None:
    del machine.env["VLLM_ASCEND_ENABLE_NZ"]


@ill(27, "compatible", "VLLM_ALL2ALL_BACKEND", "not set")
def expert_exchange_not_chosen(machine: Machine) -> None:
    del machine.env["VLLM_ALL2ALL_BACKEND"]


@ill(27, "compatible", "VLLM_ALL2ALL_BACKEND", "flashinfer_all2allv, which vllm 0.10.1+empty does not know")
def expert_exchange_that_vllm_does_not_have(machine: Machine) -> None:
    machine.install_vllm("0.10.1+empty", **{"vllm/envs.py": 'VLLM_ALL2ALL_BACKEND: Literal["naive", "pplx"]\n'})


@ill(28, "broken", "ports of HCCL_HOST_SOCKET_PORT_RANGE in use", "60003")
def somebody_on_the_ports_of_hccl(machine: Machine) -> None:
    del machine.env["HCCL_HOST_SOCKET_PORT_RANGE"]
    machine.file("/proc/net/tcp", SOCKETS.format(port=60003))


@ill(28, "broken", "ports of HCCL_HOST_SOCKET_PORT_RANGE in use", "61008")
def somebody_on_the_ports_from_the_base_chosen(machine: Machine) -> None:
    del machine.env["HCCL_HOST_SOCKET_PORT_RANGE"]
    machine.env["HCCL_IF_BASE_PORT"] = "61000"
    machine.file("/proc/net/tcp6", SOCKETS.format(port=61008).replace("0100007F", "0" * 32))


@ill(28, "compatible", "ports of HCCL_NPU_SOCKET_PORT_RANGE in use", "16666")
def somebody_on_the_port_of_the_npus(machine: Machine) -> None:
    del machine.env["HCCL_NPU_SOCKET_PORT_RANGE"]
    machine.file("/proc/net/tcp", SOCKETS.format(port=16666))


@ill(28, "compatible", "HCCL_HOST_SOCKET_PORT_RANGE", "not set")
def hccl_on_its_fixed_port(machine: Machine) -> None:
    del machine.env["HCCL_HOST_SOCKET_PORT_RANGE"]


@ill(28, "broken", "HCCL_NPU_SOCKET_PORT_RANGE", "16666")
def hccl_with_one_port_for_all(machine: Machine) -> None:
    machine.env["HCCL_NPU_SOCKET_PORT_RANGE"] = "16666"


@ill(29, "broken", "parts of CANN", "8.2.RC1: opp_kernel")
def cann_upgraded_in_part(machine: Machine) -> None:
    names = ("runtime", "compiler", "hccl")
    machine.version_cfg({**dict.fromkeys(names, "[8.0.0:8.3.RC1]"), "opp_kernel": "[7.8.0:8.2.RC1]"})


@ill(30, "compatible", "HCCL_CONNECT_TIMEOUT", "not set (120)")
def hccl_with_its_short_timeout(machine: Machine) -> None:
    del machine.env["HCCL_CONNECT_TIMEOUT"]


@ill(30, "broken", "HCCL_CONNECT_TIMEOUT", "10000")
def hccl_with_a_timeout_it_refuses(machine: Machine) -> None:
    machine.env["HCCL_CONNECT_TIMEOUT"] = "10000"


@ill(31, "broken", "VLLM_ATTENTION_BACKEND", "XFORMERS")
def engine_of_the_gpu_quick_start(machine: Machine) -> None:
    machine.env["VLLM_ATTENTION_BACKEND"] = "XFORMERS"


@ill(32, "compatible", "devices seen by Ray", "2 of 2 in /dev, since acl cannot be asked: not on the path")
def ray_without_acl(machine: Machine) -> None:
    machine.path = [entry for entry in machine.path if "ascend-toolkit" not in entry]


def a3(machine: Machine) -> None:
    """Give a machine sixteen devices."""
    ray_without_acl(machine)
    chips = [f"| {n // 2} Ascend910 | OK | 1 |\n| {n % 2} | 0000:9D | 1 / 65536 |\n" for n in range(16)]
    machine.command("npu-smi", "".join(chips))
    for number in range(16):
        machine.file(f"/dev/davinci{number}")


@ill(32, "broken", "devices seen by Ray", "10 of 16 in /dev")
def ray_that_counts_to_ten_on_an_a3(machine: Machine) -> None:
    a3(machine)


@ill(32, "compatible", "devices seen by Ray", "16 of 16 in /dev")
def newer_ray_without_acl_on_an_a3(machine: Machine) -> None:
    a3(machine)
    machine.install_ray("2.50.0", "/dev/davinci[0-9]*")


@ill(32, "broken", "devices seen by Ray", "0 of 2 in /dev")
def ray_that_knows_no_npu(machine: Machine) -> None:
    ray_without_acl(machine)
    machine.install("ray", "2.6.0", {"ray/__init__.py": ""})


@ill(32, "compatible", "devices seen by Ray", "ImportError: libascendcl.so")
def ray_with_an_acl_that_cannot_be_loaded(machine: Machine) -> None:
    machine.file(f"{TOOLKIT}/python/site-packages/acl.py", "raise ImportError('libascendcl.so')\n")


@ill(32, "compatible", "devices seen by Ray", "get_device_count gave 507000")
def ray_with_an_acl_that_fails(machine: Machine) -> None:
    machine.acl("return 0, 507000")


@ill(32, "broken", "devices seen by Ray", "1 through acl")
def ray_with_fewer_devices_than_there_are(machine: Machine) -> None:
    machine.acl("return 1, 0")


@ill(33, "broken", "devices and driver", "missing: /dev/davinci0…, /dev/hisi_hdc, /usr/local/dcmi")
def container_without_devices(machine: Machine) -> None:
    for path in ("/dev/davinci0", "/dev/davinci1", "/dev/hisi_hdc", "/usr/local/dcmi"):
        machine.remove(path)


@ill(
    33, "broken", "devices and driver", "missing: /usr/local/Ascend/driver/version.info, /usr/local/Ascend/driver/lib64"
)
def container_with_folders_that_the_host_does_not_have(machine: Machine) -> None:
    machine.file("/.dockerenv")
    for path in ("version.info", "lib64"):
        machine.remove(f"/usr/local/Ascend/driver/{path}")
        (machine.root / "usr/local/Ascend/driver" / path).mkdir()


@ill(33, "broken", "npu-smi info", "dcmi module initialize failed. ret is -8005; held by python (pid 29726)")
def devices_held_by_somebody_else(machine: Machine) -> None:
    machine.command("npu-smi", "dcmi module initialize failed. ret is -8005\n", code=1)
    machine.file("/proc/29726/comm", "python\n")
    opened = machine.root / "proc/29726/fd/7"
    opened.parent.mkdir()
    opened.symlink_to("/dev/davinci0")


@ill(33, "broken", "npu-smi info", "NPU 1 Alarm")
def a_device_that_is_ill(machine: Machine) -> None:
    machine.command(
        "npu-smi", SMI.replace("| 1     910B3               | OK   ", "| 1     910B3               | Alarm")
    )


@ill(34, "broken", "repatch of MindSpeed", "1cdd0abd75e40936ad31721c, undoes patches of methods")
def a_mindspeed_that_undoes_its_patches(machine: Machine) -> None:
    machine.install_mindspeed(patch_utils(mended=False))


@ill(34, "compatible", "repatch of MindSpeed", "verl-npu keeps them")
def a_mindspeed_that_would_undo_its_patches(machine: Machine) -> None:
    a_mindspeed_that_undoes_its_patches(machine)
    machine.module("verl/utils/npu/mindspeed.py")


@ill(34, "compatible", "repatch of MindSpeed", "has no repatch")
def a_mindspeed_without_repatch(machine: Machine) -> None:
    machine.install_mindspeed(patch_utils(mended=True), adaptor="")


@ill(34, "unknown", "repatch of MindSpeed", "could not be tried")
def a_manager_that_does_nothing(machine: Machine) -> None:
    machine.install_mindspeed("class MindSpeedPatchesManager:\n    patches_info = {}\n")


@ill(34, "unknown", "repatch of MindSpeed", "could not be tried")
def a_manager_whose_patches_have_no_effect(machine: Machine) -> None:
    methods = "".join(f"    {name} = staticmethod(vars)\n" for name in ("remove_patches", "apply_patches"))
    machine.install_mindspeed(f"class MindSpeedPatchesManager:\n{methods}    register_patch = print\n")


ADAPTOR_FIRST = "try:\n    from mindspeed.megatron_adaptor import repatch\nexcept ImportError:\n    repatch = None\n"
MEGATRON = "from megatron.core import parallel_state\n"


@ill(35, "broken", "order of MindSpeed and Megatron", "megatron first: verl/workers/megatron_workers.py")
def megatron_before_mindspeed(machine: Machine) -> None:
    machine.module("verl/workers/megatron_workers.py", MEGATRON + ADAPTOR_FIRST)


def test_there_is_a_state_for_every_symptom() -> None:
    assert {case[0] for case in CASES} == set(knowledge.load().symptoms) == set(range(1, 36))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[4].__name__}")
def test_an_ill_machine_has_its_row_with_a_fix_and_a_thread(machine: Machine, case: Case) -> None:
    symptom, level, component, found, make = case
    make(machine)
    rows = [row for row in machine.rows(symptom, imports=symptom in {12, 32}) if row.component == component]
    assert [(row.level, found in row.found) for row in rows] == [(level, True)], rows
    assert rows[0].fix
    assert "{" not in rows[0].fix
    assert "…" not in rows[0].fix.replace("/dev/davinci0…", "")
    assert rows[0].why
    assert rows[0].see


# Symptoms that a healthy machine of this kind cannot have, and what its twin is.
def healthy_x86(machine: Machine) -> None:
    machine.machine = "x86_64"
    machine.install_torch("2.7.1+cpu")


def healthy_setter(machine: Machine) -> None:
    machine.install("vllm-ascend", "0.10.0rc1", requires=["torch-npu==2.7.1.dev20250724"])
    machine.install_torch_npu("2.7.1.dev20250724")


def healthy_mindspeed(machine: Machine) -> None:
    machine.install_mindspeed(patch_utils(mended=True))


def healthy_order(machine: Machine) -> None:
    machine.module("verl/workers/megatron_workers.py", ADAPTOR_FIRST + MEGATRON)
    machine.module("verl/utils/megatron_utils.py", MEGATRON)


TWINS: dict[int, Ill] = {1: healthy_x86, 3: healthy_setter, 34: healthy_mindspeed, 35: healthy_order}


@pytest.mark.parametrize("symptom", range(1, 36))
def test_the_healthy_twin_has_a_matched_row_and_no_other(machine: Machine, symptom: int) -> None:
    if make := TWINS.get(symptom):
        make(machine)
    rows = machine.rows(symptom, imports=symptom in {12, 32})
    assert {row.level for row in rows} == {"matched"}, rows


def test_a_healthy_machine_is_matched_throughout(machine: Machine) -> None:
    report = machine.report("vllm-0.11", imports=True)
    assert [row for row in report.rows if row.level != "matched"] == []
    assert report.exit_code == 0


def test_an_ill_machine_says_nothing_else_is_ill(machine: Machine) -> None:
    numpy_2(machine)
    broken = {(row.check, row.component) for row in machine.report(imports=True).rows if row.level != "matched"}
    assert broken == {("install.limits", "numpy"), ("install.requirements", "numpy for vllm-ascend")}


def test_a_stack_for_cann_that_works_with_numpy_2_takes_it(machine: Machine) -> None:
    numpy_2(machine)
    rows = machine.report("transformers-5.24.0").rows
    assert not [row for row in rows if row.component == "numpy" and row.level == "broken"]


@pytest.mark.parametrize(("version", "level"), [("2.2.0", "matched"), ("1.26.4", "broken")])
def test_of_a_component_that_the_stack_names_the_stack_alone_says_what_will_do(
    machine: Machine, version: str, level: str
) -> None:
    machine.install("numpy", version, {"numpy/__init__.py": ""})
    rows = [row for row in machine.report("verl-0.9.1").rows if row.component == "numpy"]
    assert [(row.check, row.level) for row in rows] == [("stack.pins", level)]


@pytest.mark.parametrize(
    ("stack", "verl", "levels"),
    [
        # No component of either is numpy; the first is of verl 0.9.1, the second of one before.
        ("verl-0.9.1-images", "", []),
        ("verl-0.9.1-images", "0.6.1", []),
        ("sglang-2025-09", "0.9.1", ["broken"]),
        ("", "0.9.1", []),
        ("", "0.6.1", ["broken"]),
    ],
)
def test_the_verl_of_the_stack_decides_on_numpy_whichever_is_installed(
    machine: Machine, stack: str, verl: str, levels: list[str]
) -> None:
    numpy_2(machine)
    machine.uninstall("verl")
    if verl:
        machine.install("verl", verl, {"verl/__init__.py": ""})
    rows = machine.report(stack).rows if stack else machine.report().rows
    assert [row.level for row in rows if row.component == "numpy" and row.check == "install.limits"] == levels
