"""Version checks at the pin itself: they use upstream's version, without the label of these wheels."""

from __future__ import annotations

from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

import pytest
import transformers
from packaging.version import Version
from transformers.dynamic_module_utils import check_python_requirements
from transformers.utils.import_utils import _is_package_available
from transformers.utils.versions import public_version, require_version

PIN = transformers.__version__
HOLDS = {"<=": True, "==": True, ">=": True, "!=": False, "<": False, ">": False}


def test_the_installed_version_has_a_label_and_what_is_written_into_files_has_none() -> None:
    assert version("transformers") == version("transformers-npu")
    assert version("transformers").startswith(f"{PIN}+npu.")
    assert transformers.PretrainedConfig().to_dict()["transformers_version"] == PIN


@pytest.mark.parametrize("operator", HOLDS)
@pytest.mark.parametrize("name", ["transformers", "transformers-npu"])
def test_a_requirement_at_the_pin_is_judged_without_the_label(name: str, operator: str) -> None:
    with nullcontext() if HOLDS[operator] else pytest.raises(ImportError, match=f"found {name}=={PIN}\\.$"):
        require_version(f"{name}{operator}{PIN}")


def test_requirements_of_a_models_own_code_are_judged_without_the_label(tmp_path: Path) -> None:
    # Upstream's pattern accepts only digits and dots, so no development version can be required.
    (tmp_path / "requirements.txt").write_text(f"transformers<={Version(PIN).base_version}\n")
    check_python_requirements(tmp_path)


def test_package_lookups_return_the_version_without_the_label() -> None:
    assert _is_package_available("transformers", return_version=True) == (True, PIN)
    assert _is_package_available("transformers_no_such_package", return_version=True) == (False, "N/A")


def test_other_packages_keep_their_local_versions() -> None:
    assert "+" in version("torch")
    assert _is_package_available("torch", return_version=True) == (True, version("torch"))
    with pytest.raises(ImportError):
        require_version(f"torch<={Version(version('torch')).public}")


@pytest.mark.parametrize(
    ("distribution", "found", "public"),
    [
        ("transformers", "5.10.4+npu.1.a8c5b99b", "5.10.4"),
        ("Transformers_NPU", "4.56.0.dev0+npu.2.acme.g8365f70", "4.56.0.dev0"),
        ("verl", "0.9.1+npu.1.adb6e6f2", "0.9.1"),
        ("verl-npu", "0.9.1", "0.9.1"),
        ("transformers", "5.10.4+cu126", "5.10.4+cu126"),
        ("torch", "2.7.1+npu.1.a8c5b99b", "2.7.1+npu.1.a8c5b99b"),
        ("transformers-stream-generator", "0.0.5+npu.1", "0.0.5+npu.1"),
        ("transformers", "N/A", "N/A"),
    ],
)
def test_only_the_label_of_these_wheels_is_removed(distribution: str, found: str, public: str) -> None:
    assert public_version(distribution, found) == public
