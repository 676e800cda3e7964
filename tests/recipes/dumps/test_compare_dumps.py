"""`compare-dumps`: the first module that diverges, who is to blame for it, and what cannot be told."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npu_recipes.cli import main
from npu_recipes.dumps.match import TOLERANCES

from .samples import ORDER, Forward, usual, write

QWEN = "transformers/models/qwen2/modeling_qwen2.py"


@pytest.fixture
def gpu(tmp_path: Path) -> Path:
    return write(tmp_path / "gpu.npz", Forward())


def compare(*arguments: str | Path) -> int:
    return main(["compare-dumps", *map(str, arguments)])


def found(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """Return what the command says as JSON."""
    compare(*arguments, "--json")
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def wheel(folder: Path) -> Path:
    """Write a wheel that says that it wraps a class's method and replaces a function beside it."""
    reason = {
        "operation": "wrapped",
        "why": "One fused  operator.",
        "forwarded": "",
        "drop_when": "",
        "overlay": "layer",
    }
    change = {"action": "replaced", "kind": "method", "line": 1, **reason}
    file = {
        "path": f"src/{QWEN}",
        "installed": QWEN,
        "action": "updated",
        "before": "0" * 64,
        "after": "1" * 64,
        "class_changes": [{"action": "updated", "name": "Qwen2RMSNorm", "changes": [{**change, "name": "forward"}]}],
        "module_changes": [
            {**change, "name": "apply_rotary_pos_emb"},
            {**change, "kind": "import", "name": "torch_npu"},
        ],
    }
    changes = {
        "schema": 1,
        "distribution": {"name": "transformers-npu", "version": "5.10.4+npu.1.aabcdef0"},
        "purpose": "NPU",
        "upstream": {
            "project": "transformers",
            "version": "5.10.4",
            "repository": "",
            "commit": "",
            "tag": "",
            "source": {"kind": "git"},
            "compared": True,
            "missing": [],
        },
        "overlay": {"name": "transformers@5.10.4", "revision": 1, "layers": [], "sha256": ""},
        "requires": [],
        "pairs": [],
        "companion": "transformers",
        "not_built": [],
        "files": [file],
        "not_applied": [],
    }
    made = folder / "transformers_npu-5.10.4-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("transformers_npu_summary/changes.json", json.dumps(changes))
    return made


def test_the_same_numbers_agree(gpu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(gpu, gpu) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"all {len(ORDER)} passages agree"


def test_a_module_that_was_given_the_same_is_suspected_itself(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"layers.0.norm": usual("else"), "layers.0": usual("else"), "": usual("else")}
    npu = write(tmp_path / "npu.npz", Forward(outputs=wrong))
    assert compare(gpu, npu, "--wheel", wheel(tmp_path)) == 1
    text = capsys.readouterr().out
    assert "first to diverge: layers.0.norm (transformers.models.qwen2.modeling_qwen2:Qwen2RMSNorm)" in text
    assert "the last before it that agrees: layers.0.attn\n" in text
    assert "its inputs agree: look at its own forward and the functions that it calls" in text
    assert (
        "changed by transformers-npu 5.10.4+npu.1.aabcdef0: Qwen2RMSNorm.forward replaced. One fused operator.\n"
        in text
    )
    assert f"beside it, transformers-npu 5.10.4+npu.1.aabcdef0 has replaced {QWEN}: apply_rotary_pos_emb." in text


def test_where_its_inputs_differ_already_the_module_around_it_is_suspected(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forward = Forward(outputs={"layers.0.attn.o": usual("else")}, inputs={"layers.0.attn.o": usual("other")})
    first = found(capsys, gpu, write(tmp_path / "npu.npz", forward), "--wheel", wheel(tmp_path))["first"]
    assert (first["module"], first["inputs_agree"], first["last_that_agrees"]) == (
        "layers.0.attn.o",
        False,
        "layers.0.attn.q",
    )
    assert (first["suspect"], first["wheel_known"]) == ("layers.0.attn", True)
    assert [(one["symbol"], one["own"]) for one in first["changed"]] == [(f"{QWEN}: apply_rotary_pos_emb", False)]


def test_a_class_that_no_overlay_changed_is_said_to_be_upstreams(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    npu = write(tmp_path / "npu.npz", Forward(outputs={"layers.0.attn": usual("else")}))
    compare(gpu, npu, "--wheel", wheel(tmp_path))
    assert "no overlay changed this class" in capsys.readouterr().out


def test_without_a_wheel_of_the_package_nothing_is_claimed(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    npu = write(tmp_path / "npu.npz", Forward(outputs={"layers.0.norm": usual("else")}))
    assert found(capsys, gpu, npu)["first"]["wheel_known"] is False
    compare(gpu, npu)
    assert "is not known: no patched wheel of transformers here; --wheel names one" in capsys.readouterr().out


def test_a_wheel_of_another_version_than_ran_is_told_of(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    npu = write(tmp_path / "npu.npz", Forward(made_by={"transformers-npu": "5.10.4+npu.1.a0000000"}))
    notes = found(capsys, gpu, npu, "--wheel", wheel(tmp_path))["notes"]
    assert notes[-1].startswith(
        "the run had transformers-npu 5.10.4+npu.1.a0000000, and the changes shown are those of"
    )


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("share", "code"), [(0.9, 0), (1.1, 1)])
def test_each_type_has_its_tolerance(tmp_path: Path, dtype: str, share: float, code: int) -> None:
    module, factor = "layers.0.norm", 1 + share * TOLERANCES[dtype]
    numbers = usual(module).astype(np.float64)
    gpu = write(tmp_path / "gpu.npz", Forward(dtype=dtype, outputs={module: numbers}))
    npu = write(tmp_path / "npu.npz", Forward(dtype=dtype, outputs={module: factor * numbers}))
    assert compare(gpu, npu) == code
    assert compare(gpu, npu, "--tolerance", "2") == 0


@pytest.mark.parametrize(
    ("mine", "theirs", "code"), [(np.nan, np.nan, 0), (np.nan, 0.5, 1), (0.5, np.nan, 1), (np.inf, -np.inf, 1)]
)
def test_nan_agrees_with_nan_alone(tmp_path: Path, mine: float, theirs: float, code: int) -> None:
    dumps = []
    for name, value in (("gpu", mine), ("npu", theirs)):
        numbers = usual("layers.0.norm").copy()
        numbers[1, 1] = value
        dumps.append(write(tmp_path / f"{name}.npz", Forward(outputs={"layers.0.norm": numbers})))
    assert compare(*dumps) == code


def test_nan_diverges_where_its_element_is_not_kept(tmp_path: Path) -> None:
    broken = usual("layers.0.norm").copy()
    broken[0, 1] = np.nan
    gpu = write(tmp_path / "gpu.npz", Forward(every=2))
    assert compare(gpu, write(tmp_path / "npu.npz", Forward(every=2, outputs={"layers.0.norm": broken}))) == 1


@pytest.mark.parametrize(("mine", "theirs", "code"), [(1, 3, 0), (3, 1, 0), (2, 4, 0), (2, 3, 2)])
def test_of_a_tensor_the_elements_are_compared_that_both_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mine: int, theirs: int, code: int
) -> None:
    dumps = [write(tmp_path / f"{every}.npz", Forward(every=every)) for every in (mine, theirs)]
    assert compare(*dumps) == code
    said = f"{dumps[1]}: holds every {theirs}th element of a tensor [4, 8], and {dumps[0]} every {mine}th"
    assert (said in " ".join(capsys.readouterr().err.split())) == bool(code)


def test_zeros_agree_with_zeros_alone(tmp_path: Path) -> None:
    zeros = np.zeros((4, 8), dtype=np.float32)
    gpu = write(tmp_path / "gpu.npz", Forward(outputs={"layers.0.norm": zeros}))
    assert compare(gpu, gpu) == 0
    assert compare(gpu, write(tmp_path / "npu.npz", Forward(outputs={"layers.0.norm": zeros + 1e-9}))) == 1


def test_another_shape_diverges(gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    npu = write(tmp_path / "npu.npz", Forward(outputs={"layers.0.norm": usual("layers.0.norm", (4, 9))}))
    assert compare(gpu, npu) == 1
    assert "output 0: bfloat16[4, 8] and bfloat16[4, 9]" in capsys.readouterr().out


def test_what_one_side_alone_gives_is_passed_over(gpu: Path, tmp_path: Path) -> None:
    """Such as the weights of an attention, which another implementation does not have."""
    assert compare(gpu, write(tmp_path / "npu.npz", Forward(more=["layers.0.attn"]))) == 0


def test_another_batch_cannot_be_compared(gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(gpu, write(tmp_path / "npu.npz", Forward(inputs={"": np.arange(8)[::-1]}))) == 2
    assert "input 0 of the model: is not the same on both sides" in " ".join(capsys.readouterr().err.split())


def test_where_no_input_has_the_same_name_nothing_is_said_of_inputs(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write(tmp_path / "model.npz", Forward(named={"": "input_ids"}))
    assert compare(gpu, model) == 2
    said = "the model: has no input of the same name on both sides: whether both were given the same batch cannot be"
    assert said in " ".join(capsys.readouterr().err.split())
    norm = Forward(named={"layers.0.norm": "x"}, outputs={"layers.0.norm": usual("else")})
    npu = write(tmp_path / "npu.npz", norm)
    first = found(capsys, gpu, npu)["first"]
    assert (first["suspect"], first["inputs_agree"]) == ("layers.0.norm", None)
    compare(gpu, npu)
    assert "its inputs have other names on each side: look at its own forward" in capsys.readouterr().out


def test_an_input_that_one_side_alone_was_given_is_told_of_and_does_not_agree(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    masked = Forward(masked=["", "layers.0.attn"], outputs={"layers.0.attn": usual("else")})
    npu = write(tmp_path / "npu.npz", masked)
    assert compare(gpu, npu, "--all") == 1
    text = capsys.readouterr().out
    assert "input of the model: mask (only the run has it); give it to both, or to neither\n" in text
    assert "look at its own forward, and at what it is given: mask (only the run has it)" in text
    told = {line.split()[0]: line.endswith("differ in names") for line in text.splitlines() if " 0.0 " in line}
    assert told == {module or "(the": module in masked.masked for module, _ in ORDER}
    assert found(capsys, gpu, npu)["first"]["inputs_agree"] is None


def test_forwards_that_the_model_itself_is_not_through_with_cannot_be_compared(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = write(tmp_path / "failed.npz", Forward(left_out=["layers.0.norm", "layers.0", ""]))
    assert compare(gpu, failed) == 2
    said = "error: the run: the model was not through with its forward 0: it failed"
    assert said in " ".join(capsys.readouterr().err.split())
    assert compare(failed, failed) == 2


def test_as_many_forwards_have_to_be_there_on_both_sides(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = write(tmp_path / "twice.npz", Forward(calls=2))
    assert compare(twice, twice) == 0
    capsys.readouterr()
    assert compare(gpu, twice) == 2
    said = "the dumps: hold 1 forwards of the model (the reference) and 2 (the run)"
    assert said in " ".join(capsys.readouterr().err.split())


def test_how_many_forwards_an_older_dump_holds_is_told_by_what_ran(gpu: Path, tmp_path: Path) -> None:
    older = tmp_path / "older.npz"
    with zipfile.ZipFile(gpu) as archive, zipfile.ZipFile(older, "w") as made:
        for name in archive.namelist():
            said = archive.read(name)
            made.writestr(name, said.replace(b'"begun": 1, ', b"") if name == "manifest.json" else said)
    assert older.read_bytes() != gpu.read_bytes()
    assert compare(gpu, older) == compare(older, older) == 0


def test_modules_of_one_side_are_named(gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    npu = write(tmp_path / "npu.npz", Forward(left_out=["layers.0.attn.q"]))
    assert found(capsys, gpu, npu)["only_reference"] == ["layers.0.attn.q"]
    assert compare(gpu, npu) == 0
    assert "only the reference ran: layers.0.attn.q" in capsys.readouterr().out
    alone = write(tmp_path / "alone.npz", Forward(left_out=[module for module, _ in ORDER]))
    assert compare(gpu, alone) == 2


def test_a_file_that_is_no_dump_or_cut_off_is_refused(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.npz"
    cut.write_bytes(gpu.read_bytes()[:-100])
    other = tmp_path / "other.npz"
    np.savez(other, a=np.arange(3))
    newer = tmp_path / "newer.npz"
    with zipfile.ZipFile(newer, "w") as archive:
        archive.writestr("manifest.json", '{"schema": 2}')
    for file in (cut, other, newer, tmp_path / "missing.npz"):
        assert compare(gpu, file) == 2
        assert f"error: {file}: is no dump that can be read" in capsys.readouterr().err.replace("\n", " ")


def test_a_file_that_is_no_wheel_is_refused(gpu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(gpu, gpu, "--wheel", gpu) == 2
    assert "is no patched wheel" in capsys.readouterr().err
