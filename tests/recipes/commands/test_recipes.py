"""`list`, `show`, `data` and `run`: what they say, and that a dry run does nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from npu_recipes.catalogue import load_pins, names
from npu_recipes.cli import main
from npu_recipes.launch import plan
from npu_recipes.launch.environment import DETERMINISTIC
from npu_recipes.launch.overrides import value_text
from support.patched import Patched, copy_site


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_all_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "list")
    found = json.loads(said(capsys, "list", "--json"))["recipes"]

    assert [one["name"] for one in found] == names()
    assert all(name in text for name in names())


def test_a_recipe_is_shown_with_its_settings_sources_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "show", "dapo-qwen2.5-7b", "--pin", "verl@d62da49")
    found = json.loads(said(capsys, "show", "dapo-qwen2.5-7b", "--pin", "verl@d62da49", "--json"))

    assert "reward_model.reward_manager=dapo" in text
    assert "MindSpeed-RL" in text
    assert "GB  of each device" in text
    assert max(map(len, text.splitlines())) <= 100
    assert found["options"]["data.gen_batch_size"] == 48
    assert found["estimate"][0]["gigabytes"] > 1


def test_a_name_that_is_none_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no such recipe" in said(capsys, "show", "grpo", code=2)
    assert "there is no such pin" in said(capsys, "show", "smoke-sft", "--pin", "verl@1", code=2)
    assert "there is no such data" in said(capsys, "data", "gsm", code=2)


def test_a_pin_is_named_by_its_version_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("0.7.1", "verl@0.7.1", "verl@bec9ef7"):
        assert json.loads(said(capsys, "show", "grpo-qwen3-8b", "--pin", name, "--json"))["pin"] == "verl@bec9ef7"
    problem = said(capsys, "show", "grpo-qwen3-8b", "--pin", "0.7", code=2)
    assert "0.7: there is no such pin" in problem
    assert "name one of verl@0.9.1 (verl 0.9.1), verl@bec9ef7 (verl 0.7.1), verl@d62da49 (verl 0.6.1)" in problem

    same = {name: replace(pin, version="0.7.1") for name, pin in load_pins().items() if name != "verl@0.9.1"}
    monkeypatch.setattr(plan, "load_pins", lambda: same)

    problem = said(capsys, "show", "grpo-qwen3-8b", "--pin", "0.7.1", code=2)
    assert "0.7.1: is the version of 3 pins" in problem
    assert "name one of verl@bec9ef7 (verl 0.7.1), verl@d62da49 (verl 0.7.1)" in problem


def install_verl(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Let a verl be installed, of which nothing is asked but its version."""
    place = folder / f"verl_npu-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: verl-npu\nVersion: {version}\n", "utf-8")
    monkeypatch.syspath_prepend(folder)


def test_a_pin_that_a_recipe_is_not_for_is_not_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "grpo-qwen3-30b-a3b"
    for more in ((), ("--json",)):
        assert "is not for verl@796871d" in said(capsys, "show", name, "--pin", "verl@796871d", *more, code=2)

    install_verl(tmp_path, monkeypatch, "0.5.0.dev0+npu.1")

    assert main(["show", name, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["pin"] == "verl@0.9.1"
    assert "is not for verl@796871d (verl 0.5.0.dev0+npu.1), which is installed: shown for verl@0.9.1" in captured.err


def test_a_verl_is_not_run_with_the_settings_of_another(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install_verl(tmp_path / "installed", monkeypatch, "0.9.1+npu.1")
    arguments = ("run", "grpo-qwen2.5-7b", "--pin", "verl@d62da49")

    problem = "--pin verl@d62da49: is for verl 0.6.1, and verl 0.9.1+npu.1 is installed"
    assert problem in said(capsys, *arguments, code=2)
    assert [one.name for one in tmp_path.iterdir()] == ["installed"]
    assert "# grpo-qwen2.5-7b for verl@d62da49" in said(capsys, *arguments, "--dry-run")


@pytest.mark.parametrize("folder", ["d", "it's"])
def test_nothing_is_started_without_its_data_or_its_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    install_verl(tmp_path / "installed", monkeypatch, "0.9.1+npu.1")
    arguments = ("run", "grpo-qwen3-8b", "--data", folder, "--model", f"{tmp_path}/m")

    problems = said(capsys, *arguments, f"data.val_files={tmp_path}/installed", code=2)

    assert f"{tmp_path}/{folder}/train.parquet: is not on this machine" in problems
    assert "fix: prepare it with `npu-recipes data dapo-math --output DIR`, and name that" in problems
    assert f"{tmp_path}/m: is not on this machine\n    fix: name the model's folder with --model" in problems
    assert "test.parquet" not in problems
    assert [one.name for one in tmp_path.iterdir()] == ["installed"]


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("~/m", "{home}/m"),
        ("here", "{folder}/here"),
        ("here/inner", "{folder}/here/inner"),
        ("./nowhere", "{folder}/nowhere"),
        ("a/b/c", "{folder}/a/b/c"),
        ("~nobody-at-all/m", "{folder}/~nobody-at-all/m"),
        ("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B"),
        ("gpt2", "gpt2"),
        ("hdfs://models/m", "hdfs://models/m"),
    ],
)
def test_a_path_is_the_same_in_every_process_and_a_name_on_the_hub_stays(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, model: str
) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    (folder / "here" / "inner").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(folder)
    options = (f"--model={text}", "--output=~/out", "--data=~/data", "--pin", "verl@0.9.1")

    found = json.loads(said(capsys, "run", "sft-qwen3-8b", "--dry-run", "--json", *options))

    assert f"model.path={value_text(model.format(home=home, folder=folder))}" in found["command"]
    assert f"data.train_files={home}/data/train.parquet" in found["command"]
    assert f"trainer.default_local_dir={home}/out/checkpoints" in found["command"]
    assert found["environment"][0]["value"] == f"{home}/out/metrics.jsonl"


def test_the_model_of_a_smoke_recipe_lies_in_its_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    options = ("--data=~/d", "--pin", "verl@0.9.1", "--json")
    found = json.loads(said(capsys, "run", "smoke-sft", "--dry-run", *options))
    assert f"model.path={tmp_path}/d/model" in found["command"]


def test_a_value_that_may_be_left_out_is_shown_to_be_joined_to_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    text = capsys.readouterr().out
    assert "--jemalloc [=FILE]" in text
    assert "--deterministic [=SEED]" in text


@pytest.mark.parametrize(
    ("option", "word", "complaint"),
    [
        (
            "--jemalloc",
            "smoke-sft",
            "`smoke-sft` is no file of a library: write --jemalloc=FILE, or --jemalloc as the last word",
        ),
        ("--jemalloc", "data.path=/a/b", "`data.path=/a/b` is no file of a library"),
        (
            "--deterministic",
            "smoke-sft",
            "`smoke-sft` is no seed: write --deterministic=SEED, or --deterministic as the last word",
        ),
    ],
)
def test_what_an_option_took_for_its_value_is_named(
    capsys: pytest.CaptureFixture[str], option: str, word: str, complaint: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "--dry-run", option, word, "smoke-sft"])
    assert (left.value.code, complaint in capsys.readouterr().err) == (2, True)


def test_the_path_of_a_library_may_look_like_an_override(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    library = tmp_path / "a=b" / "lib.so"
    library.parent.mkdir()
    library.touch()

    assert f"LD_PRELOAD={library}" in said(capsys, "run", "smoke-sft", "--dry-run", f"--jemalloc={library}")


def test_a_dry_run_says_what_it_would_do_and_does_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("run", "grpo-qwen2.5-7b", "--dry-run", "--pin", "verl@d62da49", "--expandable-segments")
    more = ("--deterministic", "7", "--model", "/models/it's", "data.train_batch_size=32", "+a.b=c d")

    found = json.loads(said(capsys, *arguments, "--json", *more))

    assert found["command"][1:3] == ["-m", "verl.trainer.main_ppo"]
    assert {"data.train_batch_size=32", "+a.b=c d", "trainer.deterministic_seed=7"} <= set(found["command"])
    assert r"actor_rollout_ref.model.path='/models/it\'s'" in found["command"]
    environment = {one["name"]: one["value"] for one in found["environment"]}
    assert environment.items() >= {**DETERMINISTIC, "EXPANDABLE_SEGMENTS": "True"}.items()
    assert found["stack"] == "vllm-0.11"
    assert found["doctor"] is not None, found["verdict"]
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_has_the_environment_of_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCCL_CONNECT_TIMEOUT", "7200")
    monkeypatch.setenv("EXPANDABLE_SEGMENTS", "True")

    lines = said(capsys, "run", "grpo-qwen2.5-7b", "--dry-run", "--pin", "verl@d62da49").splitlines()

    assert {"# HCCL_CONNECT_TIMEOUT: your environment", "# EXPANDABLE_SEGMENTS: your environment"} <= {*lines}
    assert {"  HCCL_CONNECT_TIMEOUT=7200 \\", "  EXPANDABLE_SEGMENTS=True \\"} <= {*lines}


def test_a_dry_run_without_a_stack_says_why(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = said(capsys, "run", "grpo-qwen3-8b-sglang", "--dry-run", "--pin", "verl@bec9ef7")

    assert text.startswith("# grpo-qwen3-8b-sglang for verl@bec9ef7, no stack\n# no stack of ours has sglang")
    assert "python -I -m npu_doctor`" in text
    assert "no stack of ours has sglang" in said(capsys, "show", "grpo-qwen3-8b-sglang", "--pin", "verl@d62da49")


def test_a_dry_run_can_be_pasted_into_a_shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("run", "smoke-grpo", "--dry-run", "--output", str(tmp_path / "a b"), "--pin", "verl@0.9.1")

    text = said(capsys, *arguments)

    # The shell itself says which words it makes of that, in place of the Python that would train.
    script = text.replace(sys.executable, 'sh -c \'printf "%s\\n" "$VERL_FILE_LOGGER_PATH" "$@"\' sh')
    done = subprocess.run(["bash", "-eu", "-c", script], capture_output=True, text=True, check=True)
    metrics, *words = done.stdout.splitlines()
    assert metrics == f"{tmp_path}/a b/metrics.jsonl"
    assert words[:2] == ["-m", "verl.trainer.main_ppo"]
    assert f"data.train_files='{tmp_path}/a b/data/train.parquet'" in words
    assert all("=" in word for word in words[2:])
    assert text.splitlines()[-1].startswith("# this machine: ")


def test_what_is_shown_stands_on_lines_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "show", "dapo-qwen3-8b", "--pin", "verl@bec9ef7").splitlines()
    assert "settings for verl@bec9ef7:" in lines
    assert any(line.startswith("  verl@bec9ef7 ") and "without dynamic sampling" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("grpo-qwen3-235b-a22b", "--pin", "verl@796871d"), "is not for verl@796871d"),
        (("smoke-sft", "trainer.total_epochs"), "is no override"),
        (("smoke-sft", "--jemalloc=/nowhere/libjemalloc.so"), "there is no jemalloc"),
    ],
)
def test_what_cannot_be_run_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in said(capsys, "run", "--dry-run", *arguments, code=2)


def test_without_verl_nothing_is_started(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "verl-npu: is not installed" in said(capsys, "run", "smoke-sft", "--output", str(tmp_path / "a"), code=2)
    assert list(tmp_path.iterdir()) == []


SAFE = "1" if sys.version_info >= (3, 11) else None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "where", "safe"),
    [
        ("grpo-qwen2.5-7b", "clone", None),
        ("sft-qwen2.5-7b", "clone", None),
        # Ray's workers look into the current folder all the same, and torchrun's processes do not.
        ("grpo-qwen2.5-7b", "clone", SAFE),
        ("sft-qwen2.5-7b", "clone", SAFE),
        ("grpo-qwen2.5-7b", ".", None),
    ],
)
def test_a_copy_in_the_way_of_the_patched_package_is_not_trained(
    patched: Patched, tmp_path: Path, recipe: str, where: str, safe: str | None
) -> None:
    site, copy = copy_site(patched, tmp_path / "site"), tmp_path / "clone/verl"
    copy.mkdir(parents=True)
    (copy / "__init__.py").write_text("")
    places = os.pathsep.join((str(site.folder), *(entry for entry in sys.path if entry)))
    run = partial(site.python, "-m", "npu_recipes", "run", recipe, PYTHONPATH=places, PYTHONSAFEPATH=safe)
    refused = where == "clone" and not (safe and recipe.startswith("sft"))

    done = run(cwd=tmp_path / where)
    # What it looks for next is the data.
    assert (f"`import verl` gives {copy}" in done.err, "is not on this machine" in done.err) == (refused, not refused)
    assert (done.code, sorted(one.name for one in tmp_path.iterdir())) == (2, ["clone", "site"])
    if safe is None:
        shown = run("--dry-run", "--json", cwd=tmp_path / where).json()["shadowed"]
        assert [str(copy) in one for one in shown] == [True] * refused


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "refused"), [("grpo-qwen2.5-7b", True), ("sft-qwen2.5-7b", False)])
def test_a_copy_in_the_working_dir_of_rays_workers_is_not_trained(
    patched: Patched, tmp_path: Path, recipe: str, refused: bool
) -> None:
    site, copy = copy_site(patched, tmp_path / "site"), tmp_path / "clone/verl"
    copy.mkdir(parents=True)
    (copy / "__init__.py").write_text("")
    places = os.pathsep.join((str(site.folder), *(entry for entry in sys.path if entry)))
    override = f"+ray_kwargs.ray_init.runtime_env.working_dir={copy.parent}"
    done = site.python("-m", "npu_recipes", "run", recipe, override, PYTHONPATH=places, cwd=tmp_path)
    said = f"`import verl` gives {copy} in Ray's workers, which look into the job's working_dir first"
    assert (said in done.err, "is not on this machine" in done.err) == (refused, not refused)


def test_an_option_that_is_none_is_still_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "smoke-sft", "--dryrun", "a=1"])

    assert left.value.code == 2
    assert "unrecognized arguments: --dryrun" in capsys.readouterr().err
