"""Installs from the doctor's data: extras, constraints, commands and the page cannot disagree, and they resolve."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from npu_doctor import knowledge
from npu_doctor.stacks import CPU_INDEX, Stack, constraints_name
from npu_overlays.overlay import stack_requirements as installs
from npu_overlays.publish import install_page
from npu_overlays.wheels.constraints import constraints_text
from support.pythons import find_uv

KNOWLEDGE = knowledge.load()
STACKS = list(KNOWLEDGE.stacks)
VARIANTS = [stack for stack in STACKS if not stack.record]
ON_INDEX = {"index", "source"}


def names(stack: Stack) -> str:
    return stack.name


@pytest.mark.parametrize("stack", STACKS, ids=names)
def test_extras_are_requirements_that_a_wheel_may_have(stack: Stack) -> None:
    extras = installs.extras(stack, KNOWLEDGE)
    for requirements in extras.values():
        assert len(requirements) == len({Requirement(text).name for text in requirements})
        assert all(Requirement(text).url is None for text in requirements)
    assert [text for text in extras["npu"] if text.startswith("torch-npu==")]


@pytest.mark.parametrize("stack", STACKS, ids=names)
def test_every_other_extra_holds_the_base(stack: Stack) -> None:
    extras = installs.extras(stack, KNOWLEDGE)
    assert extras.keys() == {one.group for one in stack.components if one.group}
    assert all(set(extras["npu"]) <= set(requirements) for requirements in extras.values())


def test_the_release_wheel_has_the_four_extras() -> None:
    extras = installs.extras_of_overlay("verl@d62da49", KNOWLEDGE)
    assert list(extras) == ["megatron", "npu", "sglang", "vllm"]
    assert {"vllm==0.11.0", "vllm-ascend==0.11.0rc1", "torch-npu==2.7.1", "numpy<2"} <= set(extras["vllm"])
    assert {"sglang[srt-npu]==0.5.2", "torch-npu==2.6.0.post3"} <= set(extras["sglang"])
    assert "megatron-core==0.12.1" in extras["megatron"]


def test_what_is_installed_without_its_dependencies_is_not_asked_for() -> None:
    """It requires another transformers than the wheel, so that nothing could be installed with both."""
    extras = installs.extras_of_overlay("verl@0.9.1", KNOWLEDGE)
    assert {"vllm==0.23.0", "torch-npu==2.10.0.post4", "numpy>=2"} <= set(extras["vllm"])
    assert not any(text.startswith("vllm-ascend") for text in chain.from_iterable(extras.values()))
    said = install_page.commands(KNOWLEDGE.stack("verl-0.9.1"), KNOWLEDGE)
    assert [line for line in said if line.endswith("--no-deps 'vllm-ascend==0.23.0'")]


def test_a_wheel_never_asks_for_a_stack_that_contradicts_itself() -> None:
    for overlay in ("verl@796871d", "verl@d62da49"):
        asked = set(chain.from_iterable(installs.extras_of_overlay(overlay, KNOWLEDGE).values()))
        assert not asked & {"vllm-ascend==0.10.0rc1", "torch-npu==2.5.1rc1", "torch-npu==2.6.0"}


def test_requirements_of_upstreams_extras_make_room_for_those_of_a_stack() -> None:
    own = ["numpy<2", "torch==2.8.0; extra == 'sglang'", 'vllm<=0.11.0 ; extra == "vllm"', 'x; extra == "vllm-more"']
    assert installs.without_extras(own, ["vllm", "sglang"]) == ["numpy<2", 'x; extra == "vllm-more"']
    assert installs.without_extras(own, []) == own


def test_an_overlay_without_a_stack_has_no_extras() -> None:
    assert installs.extras_of_overlay("transformers@0000000", KNOWLEDGE) == {}


@pytest.mark.parametrize("stack", STACKS, ids=names)
def test_constraints_hold_every_pin_of_the_index_and_name_the_rest(stack: Stack) -> None:
    lines = constraints_text(stack, KNOWLEDGE, {}).splitlines()
    constrained = {Requirement(line).name for line in lines if not line.startswith("#")}
    wanted = {installs.distribution(pin, KNOWLEDGE) for pin in stack.components if pin.install in ON_INDEX}
    assert constrained == wanted
    said = "\n".join(line for line in lines if line.startswith("#"))
    assert all(pin.name in said for pin in stack.components if pin.install == "git")
    assert all(name in said for name in stack.absent)
    assert all(one.source in said for one in stack.contradictions) or not stack.record


@pytest.mark.parametrize("stack", VARIANTS, ids=names)
def test_commands_install_every_pin_and_end_with_the_checks(stack: Stack) -> None:
    said = "\n".join(install_page.commands(stack, KNOWLEDGE))
    for pin in stack.components:
        if pin.group and pin.group != "npu":
            revision = pin.commit or pin.tag or pin.repository
            assert (f"=={pin.version}" in said) if pin.install == "index" else (revision in said), pin
    assert said.endswith(f"python -I -m npu_doctor --stack {stack.name}")
    assert constraints_name(stack.name) in said


@pytest.mark.parametrize("stack", VARIANTS, ids=names)
def test_what_a_command_asks_of_our_wheel_is_what_the_constraints_pin(stack: Stack) -> None:
    """The wheel's extras may be those of another stack: then nothing satisfies both them and the constraints."""
    (line,) = (one for one in install_page.commands(stack, KNOWLEDGE) if "-npu[" in one)
    words = shlex.split(line)
    wheel, *parts = map(Requirement, words[words.index("wheels") + 1 :])
    assert wheel.name == f"{stack.overlays[-1].partition('@')[0]}-npu"
    built = installs.extras_of_overlay(stack.overlays[-1], KNOWLEDGE)
    asked = [*parts, *chain.from_iterable(map(Requirement, built.get(name, [])) for name in wheel.extras)]
    pinned = constraints_text(stack, KNOWLEDGE, {}).splitlines()
    pins = {one.name: one for one in map(Requirement, (line for line in pinned if not line.startswith("#")))}
    for one in asked:
        given = str(pins[one.name].specifier) if one.name in pins else ""
        versions = {spec.version for spec in one.specifier if spec.operator == "=="}
        assert all(version in SpecifierSet(given) for version in versions), f"{one} against {given}"
        assert versions or not one.specifier or str(one.specifier) == given
    base = {Requirement(text).name for text in installs.extras(stack, KNOWLEDGE)["npu"]}
    assert base <= {one.name for one in asked}


@pytest.mark.parametrize(
    "stack", [one for one in VARIANTS if "triton" in one.absent and one.component("triton_ascend")], ids=names
)
def test_triton_ascend_is_installed_again_once_triton_took_its_files_along(stack: Stack) -> None:
    lines = install_page.commands(stack, KNOWLEDGE)
    (removal,) = (number for number, line in enumerate(lines) if line.startswith("pip uninstall -y"))
    again = lines[removal + 1]
    assert again.startswith("pip install --force-reinstall --no-deps ")
    assert "triton-ascend==" in again


@pytest.mark.parametrize("stack", VARIANTS, ids=names)
def test_commands_are_a_shell_script(stack: Stack, tmp_path: Path) -> None:
    script = tmp_path / "install.sh"
    script.write_text("\n".join(install_page.commands(stack, KNOWLEDGE, x86=True)), encoding="utf-8")
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert CPU_INDEX in script.read_text()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_holds_every_command_pin_and_contradiction(language: str) -> None:
    page = install_page.render(KNOWLEDGE, language)
    for stack in STACKS:
        assert f"### {stack.name}\n" in page
        for one in stack.contradictions:
            assert one.says[language] in page
            assert install_page.source(one.source, language) in page
        if not stack.record:
            assert "\n".join(install_page.commands(stack, KNOWLEDGE, language=language)) in page
    assert f"](#{'mindspeed-rl-23'})" in page


def test_the_pages_say_the_same_in_both_languages() -> None:
    pages = [install_page.render(KNOWLEDGE, language) for language in ("en", "zh")]
    commands, translated = ([*re.findall(r"^[^`\n]*pip install[^`\n]*$", page, re.MULTILINE)] for page in pages)
    assert commands
    assert commands == translated


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("requirements of vllm 0.7.3 on the index", "包索引上 vllm 0.7.3 的依赖声明"),
        ("the wheels of torch-npu on the index", "包索引上 torch-npu 的 wheel"),
        ("kernels on the index; https://example.com/x", "包索引上的 kernels；https://example.com/x"),
    ],
)
def test_a_source_that_is_no_address_is_translated(english: str, chinese: str) -> None:
    assert install_page.source(english, "en") == english
    assert install_page.source(english, "zh") == chinese


def test_every_source_of_a_stack_has_its_chinese() -> None:
    for stack in STACKS:
        for one in stack.contradictions:
            assert not re.search(r" on the index| of ", install_page.source(one.source, "zh"))


@pytest.mark.parametrize(("language", "said"), [("en", "# put the wheel of "), ("zh", "# 请先从 ")])
def test_what_a_person_does_first_is_a_comment_above_its_command_in_the_pages_language(
    language: str, said: str
) -> None:
    lines = install_page.commands(KNOWLEDGE.stack("verl-0.9.1"), KNOWLEDGE, language=language)
    (comment,) = (number for number, line in enumerate(lines) if line.startswith("# "))
    assert lines[comment].startswith(said)
    assert lines[comment + 1] == "pip install --no-deps --find-links wheels 'triton-ascend==3.2.2'"


def test_a_page_explains_only_the_marks_that_a_stack_has() -> None:
    sections = re.split(r"^### ", install_page.render(KNOWLEDGE, "en"), flags=re.MULTILINE)
    extras = {part.partition("\n")[0]: re.findall(r"^(?:E|No e)xtras? of .*", part, re.MULTILINE) for part in sections}
    (plain,) = extras["transformers-5.24.0"]
    assert plain.startswith(
        "Extras of `transformers-npu` that hold versions of this stack: `[npu]`. An extra holds components "
    )
    assert plain.endswith(" *index* or *source*, except those that are installed without dependencies.")
    assert extras["verl-0.9.1"][0].startswith(
        "Extras of `verl-npu` that hold versions of this stack: `[npu]`, `[vllm]`. "
    )
    assert " do not use `[vllm]`: " in extras["verl-0.9.1"][0]
    assert " do not use " not in extras["vllm-0.7.3"][0] + extras["sglang-0.5.2"][0]
    assert extras["sglang-0.5.2"][0].startswith("Extras of `verl-npu` that hold versions of this stack: `[sglang]`. ")
    assert " other extras " in extras["sglang-0.5.2"][0]
    assert " other extras " not in extras["verl-0.9.1"][0]
    assert extras["vllm-0.7.3"][0].startswith("No extra of `verl-npu` fits this stack")
    assert "marked `git`" not in extras["vllm-0.7.3"][0]
    assert "marked `source`" in extras["vllm-0.7.3"][0]
    assert "marked `git`" in extras["sglang-0.5.2"][0]


def test_the_committed_pages_are_up_to_date(pytestconfig: pytest.Config) -> None:
    folder = pytestconfig.rootpath / "docs"
    if not folder.is_dir():
        pytest.skip("run outside a checkout")
    assert install_page.outdated(folder) == []


def test_a_page_that_is_not_up_to_date_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert install_page.main(["--check"]) == 1
    assert "install.zh-CN.md: not up to date" in capsys.readouterr().err
    assert install_page.main([]) == 0
    assert install_page.main(["--check"]) == 0
    (tmp_path / "docs" / "install.md").write_text("older")
    assert install_page.main(["--check"]) == 1


def compiled(
    stack: Stack, machine: str, folder: Path, *options: str, limited: bool = True
) -> subprocess.CompletedProcess[str]:
    """Resolve a stack's wheels for a machine, without installing."""
    pins = [pin for pin in stack.components if pin.install == "index" and machine in pin.wheels]
    # numcodecs, which megatron-core pulls through zarr, has no wheel for aarch64 with Python 3.10.
    wanted = [
        installs.requirement(pin, KNOWLEDGE)
        for pin in pins
        if pin.name not in ("megatron_core", "opencv") and "--no-deps" not in pin.options
    ]
    (folder / "wanted.in").write_text("\n".join(wanted) + "\n")
    (folder / "limits.txt").write_text(constraints_text(stack, KNOWLEDGE, {}) if limited else "")
    # arctic-inference, which vllm-ascend 0.13.0 requires, is on the index as source alone, which this does not build.
    (folder / "without.txt").write_text("arctic-inference ; python_version < '3'\n")
    platform = f"{machine}-manylinux_2_28"
    given = ["--only-binary", ":all:", "--python-version", stack.python, "--python-platform", platform]
    return uv(
        "pip",
        "compile",
        "--no-header",
        "--no-annotate",
        *given,
        "-c",
        str(folder / "limits.txt"),
        "--override",
        str(folder / "without.txt"),
        *options,
        str(folder / "wanted.in"),
    )


def uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_uv() or "uv", *arguments], capture_output=True, text=True, check=False)


@cache
def unreachable() -> str:
    """Return why the index cannot be asked, empty when it can."""
    if find_uv() is None:
        return "uv is not installed"
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "torch-npu"], capture_output=True, text=True, check=False
    )
    return "" if asked.returncode == 0 else f"the package index does not answer: {asked.stderr[-200:]}"


@pytest.fixture
def index() -> None:
    if reason := unreachable():
        pytest.skip(reason)


@pytest.mark.index
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("stack", STACKS, ids=names)
def test_every_pin_of_the_index_is_there(stack: Stack, tmp_path: Path) -> None:
    pins = [pin for pin in stack.components if pin.version and (pin.install in ON_INDEX or pin.name == "transformers")]
    indexed = [pin for pin in pins if not (stack.record and pin.name == "vllm_ascend" and pin.commit)]
    (tmp_path / "pins.in").write_text("\n".join(installs.requirement(pin, KNOWLEDGE) for pin in indexed))
    done = uv(
        "pip",
        "compile",
        "--no-deps",
        "--no-header",
        "--no-annotate",
        "--python-version",
        stack.python,
        "--python-platform",
        "aarch64-manylinux_2_28",
        str(tmp_path / "pins.in"),
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == len(indexed)


@pytest.mark.index
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("stack", VARIANTS, ids=names)
def test_the_wheels_of_a_consistent_stack_resolve_on_aarch64_with_its_numpy(stack: Stack, tmp_path: Path) -> None:
    done = compiled(stack, "aarch64", tmp_path)
    assert done.returncode == 0, done.stderr
    resolved = {Requirement(line).name: line for line in done.stdout.splitlines()}
    numpy = stack.component("numpy")
    assert resolved["numpy"].removeprefix("numpy==") in SpecifierSet(numpy.allow if numpy else "")
    for pin in stack.components:
        name = installs.distribution(pin, KNOWLEDGE)
        if name in resolved and pin.version:
            assert resolved[name] == f"{name}=={pin.version}"


@pytest.mark.index
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("index")
def test_without_the_constraints_numpy_2_slips_in(tmp_path: Path) -> None:
    done = compiled(KNOWLEDGE.stack("mindspeed-rl-2.3"), "aarch64", tmp_path, limited=False)
    assert done.returncode == 0, done.stderr
    assert "numpy==2." in done.stdout


@pytest.mark.index
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("index")
def test_x86_is_refused_without_pytorchs_own_index(tmp_path: Path) -> None:
    done = compiled(KNOWLEDGE.stack("vllm-0.11"), "x86_64", tmp_path)
    assert done.returncode != 0
    assert "torch==2.7.1+cpu" in done.stderr


@pytest.mark.index
@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_extras_of_two_stacks_are_refused_together(tmp_path: Path) -> None:
    extras = installs.extras_of_overlay("verl@d62da49", KNOWLEDGE)
    (tmp_path / "both.in").write_text("\n".join([*extras["npu"], *extras["sglang"]]))
    done = uv(
        "pip",
        "compile",
        "--python-version",
        "3.11",
        "--python-platform",
        "aarch64-manylinux_2_28",
        str(tmp_path / "both.in"),
    )
    assert done.returncode != 0
    assert "torch-npu==2.6.0.post3" in done.stderr
    assert "torch-npu==2.7.1" in done.stderr


def test_pins_that_only_git_has_are_shown_as_such() -> None:
    only_git: set[tuple[str, str]] = set()
    for stack in VARIANTS:
        only_git |= {(stack.name, pin.name) for pin in stack.components if pin.install == "git"}
    assert only_git == {
        ("vllm-0.11", "mindspeed"),
        ("verl-0.7.1", "mindspeed"),
        ("mindspeed-rl-2.3-nearest", "mindspeed"),
        ("mindspeed-rl-2.3-nearest", "vllm_ascend"),
        ("sglang-0.5.2", "torch_memory_saver"),
        ("verl-0.9.1", "mindspeed"),
        ("verl-0.9.1", "triton_ascend"),
    }
    for name, pin in only_git:
        assert f"# not on the index: {pin}" in constraints_text(KNOWLEDGE.stack(name), KNOWLEDGE, {})
