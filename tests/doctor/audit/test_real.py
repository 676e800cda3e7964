"""No false alarm over the real, patched transformers: every module that can be imported here, with torch."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable, torch_environment

pytestmark = [pytest.mark.slow, pytest.mark.index, pytest.mark.upstream]
OVERLAY = "transformers@8365f70"
IMPORT_ALL = """\
import importlib, pathlib, transformers
root = pathlib.Path(transformers.__file__).parent
for file in sorted([*root.glob("models/*/*.py"), *root.glob("*.py"), *root.glob("*/*.py")]):
    name = ".".join(("transformers", *file.relative_to(root).with_suffix("").parts))
    other = any(part in name for part in ("_tf_", "_flax_", ".convert_", ".tf_", ".flax_"))
    if file.name != "__init__.py" and not other:
        try:
            importlib.import_module(name)
        except BaseException:
            pass
"""
# One of ours, one of upstream's own, wrapped as plugins do it.
PATCHES = """\
import functools
import transformers.models.qwen2.modeling_qwen2 as qwen2
import transformers.models.llama.modeling_llama as llama

def wrap(function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        return function(*args, **kwargs)
    return run

qwen2.Qwen2RMSNorm.forward = wrap(qwen2.Qwen2RMSNorm.forward)
llama.LlamaDecoderLayer.forward = wrap(llama.LlamaDecoderLayer.forward)
"""


@pytest.fixture(scope="module")
def installed(shared: Path) -> Torch:
    try:
        return Installations(shared / "npu").install(torch_environment(), OVERLAY)
    except Unavailable as reason:
        pytest.skip(str(reason))


def audit(installed: Torch, script: Path) -> tuple[int, dict[str, object]]:
    command = [str(installed.python), "-m", "transformers_npu_summary", "--audit", "--json", "--script", str(script)]
    done = subprocess.run(command, capture_output=True, cwd=script.parent, check=False)
    report: dict[str, object] = json.loads(done.stdout)
    return done.returncode, report


def test_importing_hundreds_of_modules_raises_no_alarm(installed: Torch, tmp_path: Path) -> None:
    script = tmp_path / "all.py"
    script.write_text(IMPORT_ALL)
    code, report = audit(installed, script)
    assert (code, report["replacements"], report["failures"]) == (0, [], [])
    assert isinstance(report["modules"], int)
    assert report["modules"] >= 500


def test_two_replacements_among_them_are_found(installed: Torch, tmp_path: Path) -> None:
    script = tmp_path / "all.py"
    script.write_text(PATCHES)
    code, report = audit(installed, script)
    found = report["replacements"]
    assert isinstance(found, list)
    assert code == 1
    assert {(one["symbol"], one["how"], one["ours"] is not None) for one in found} == {
        ("Qwen2RMSNorm.forward", "wrapped", True),
        ("LlamaDecoderLayer.forward", "wrapped", False),
    }
