"""The Makefile and `.ci/run`: documented, agreeing with the READMEs, clear about a Python that will not do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from npu_overlays.matrix import PYTHONS

from .conftest import ROOT, makefile_targets

READMES = ("README.md", "README.zh-CN.md")


def make(*arguments: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run make with nothing in the environment that would change what it does."""
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", ""), "LC_ALL": "C", **variables}
    return subprocess.run(["make", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a folder with a copy of the Makefile only, where nothing is installed yet."""
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def fake_python(folder: Path, name: str, *, supported: bool) -> None:
    """Put a command into a folder that is a supported Python, or is not."""
    file = folder / name
    file.write_text(f"#!/bin/sh\nexit {0 if supported else 1}\n", "utf-8")
    file.chmod(0o755)


def test_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)", text, flags=re.MULTILINE)
    done = make("help")
    listed = set(re.findall(r"^  make ([a-z-]+)  ", done.stdout, flags=re.MULTILINE))
    assert listed == set(phony.split()) == makefile_targets()


def test_refuses_a_named_python_that_is_not_supported(elsewhere: Path) -> None:
    fake_python(elsewhere, "python2.7", supported=False)
    done = make("wheels", f"PYTHON={elsewhere / 'python2.7'}", cwd=elsewhere)
    assert done.returncode != 0
    assert "python2.7 is not Python 3.10 to 3.13" in done.stderr
    assert not (elsewhere / ".venv").exists()


def test_says_when_there_is_no_supported_python(elsewhere: Path) -> None:
    tools = elsewhere / "bin"
    tools.mkdir()
    for tool in ("make", "sh", "test", "sed", "awk"):
        found = next(Path(folder, tool) for folder in ("/usr/bin", "/bin") if Path(folder, tool).exists())
        (tools / tool).symlink_to(found)
    fake_python(tools, "python3", supported=False)
    done = make("wheels", cwd=elsewhere, PATH=str(tools))
    assert done.returncode != 0
    assert "No Python 3.10 to 3.13 found" in done.stderr


def test_passes_over_an_unsupported_python3_for_a_supported_one(elsewhere: Path) -> None:
    fake_python(elsewhere, "python3", supported=False)
    fake_python(elsewhere, "python3.13", supported=True)
    done = make("--dry-run", "wheels", cwd=elsewhere, PATH=f"{elsewhere}:{os.environ['PATH']}")
    assert '"python3.13" -m venv' in done.stdout


def test_the_supported_pythons_are_those_of_the_matrix() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    ((first, last),) = re.findall(r"\((3, \d+)\) <= .* <= \((3, \d+)\)", text)
    assert (PYTHONS[0], PYTHONS[-1]) == (first.replace(", ", "."), last.replace(", ", "."))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ((), "npu-overlays build"),
        (("STACK=mindspeed-rl-2.3",), "npu-overlays build --stack mindspeed-rl-2.3"),
        (("OVERLAY=verl@d62da49",), "npu-overlays build verl@d62da49"),
    ],
)
def test_wheels_builds_what_is_asked_for(elsewhere: Path, variables: tuple[str, ...], expected: str) -> None:
    lines = make("--dry-run", "wheels", *variables, cwd=elsewhere).stdout.splitlines()
    (build,) = [line for line in lines if "npu-overlays build" in line]
    assert " ".join(build.split()) == f".venv/bin/{expected}"


def test_all_tests_are_the_tests_with_the_slow_ones_and_a_coverage_gate(elsewhere: Path) -> None:
    def pytest_line(target: str) -> str:
        (line,) = [line for line in make("--dry-run", target, cwd=elsewhere).stdout.splitlines() if "pytest" in line]
        return line

    quick, everything = pytest_line("test-quick"), pytest_line("test")
    assert quick.endswith(' -m "not slow"')
    assert everything.startswith(quick.removesuffix(' -m "not slow"'))
    assert "-m " not in everything.replace("-m pytest", "")
    assert "--cov-fail-under=" in everything
    assert "--cov" not in quick


def test_installs_once(elsewhere: Path) -> None:
    (elsewhere / ".venv" / "bin").mkdir(parents=True)
    (elsewhere / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (elsewhere / ".venv" / "installed").touch()
    assert "pip" not in make("--dry-run", "format", cwd=elsewhere).stdout
    later = (elsewhere / ".venv" / "installed").stat().st_mtime + 10
    os.utime(elsewhere / "pyproject.toml", (later, later))
    assert "pip" in make("--dry-run", "format", cwd=elsewhere).stdout


def test_ci_runs_the_commands_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    run = re.findall(r"^make ([a-z-]+)", script.read_text("utf-8"), flags=re.MULTILINE)
    assert {"wheels", "test", "lint", "types"} == set(run)
    assert run[-1] == "test"


def test_ci_runs_every_step_and_fails_where_one_fails(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    log = tmp_path / "log"
    fake = tmp_path / "bin" / "make"
    fake.parent.mkdir()
    for failing in ("lint", "test", "none"):
        log.unlink(missing_ok=True)
        fake.write_text(f'#!/bin/sh\necho "$1" >> "{log}"\ntest "$1" != {failing}\n', "utf-8")
        fake.chmod(0o755)
        path = f"{fake.parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", ".ci/run"], cwd=tmp_path, env={**os.environ, "PATH": path}, check=False)
        assert log.read_text("utf-8").split() == ["lint", "types", "wheels", "test"]
        assert (done.returncode == 0) == (failing == "none")


@pytest.mark.parametrize("readme", READMES)
def test_the_first_screen_of_a_readme_has_the_two_commands(readme: str) -> None:
    head = (ROOT / readme).read_text("utf-8").splitlines()[:30]
    commands = [line.split("#")[0].strip() for line in head]
    assert commands.index("make wheels") < commands.index("make test")


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_names_only_targets_that_exist(readme: str) -> None:
    text = (ROOT / readme).read_text("utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, flags=re.MULTILINE))
    assert {"wheels", "test"} <= named <= makefile_targets()


def test_the_readmes_show_the_same_commands() -> None:
    def commands(readme: str) -> list[str]:
        text = (ROOT / readme).read_text("utf-8")
        blocks = re.findall(r"```(?:bash|toml|python)\n(.*?)```", text, flags=re.DOTALL)
        return [re.sub(r" *#.*", "", line).rstrip() for block in blocks for line in block.splitlines()]

    english, chinese = (commands(readme) for readme in READMES)
    assert english
    assert english == chinese


@pytest.mark.parametrize("document", [*READMES, *(f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md"))])
def test_every_link_to_a_file_leads_somewhere(document: str) -> None:
    file = ROOT / document
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)|src=\"(?!https?:)([^\"]+)", file.read_text("utf-8"))
    targets = [one or other for one, other in links]
    assert [target for target in targets if not (file.parent / target).exists()] == []
