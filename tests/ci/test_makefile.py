"""The Makefile and `.ci/run`: documented, agreeing with the READMEs, clear about a Python that will not do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from npu_overlays.publish.ci_matrix import PYTHONS

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
    for distribution in ("build_tools", "recipes"):
        (tmp_path / distribution).mkdir()
        (tmp_path / distribution / "pyproject.toml").touch()
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
    assert max(map(len, done.stdout.splitlines())) <= 100
    whole = re.sub(r"\n {25}", " ", done.stdout)
    told = dict(line.split(maxsplit=2)[1:] for line in whole.splitlines())
    assert told == dict(re.findall(r"^([a-z-]+):.*?  ## (.*)", text, flags=re.MULTILINE))


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


def test_a_stack_and_an_overlay_at_once_are_refused(elsewhere: Path) -> None:
    (elsewhere / ".venv" / "bin").mkdir(parents=True)
    (elsewhere / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (elsewhere / ".venv" / "installed").touch()
    done = make("wheels", "STACK=vllm-0.11", "OVERLAY=verl@796871d", cwd=elsewhere)
    assert done.returncode == 2
    assert "Name STACK or OVERLAY, not both" in done.stderr


def test_each_target_of_tests_has_all_that_the_smaller_one_has(elsewhere: Path) -> None:
    def pytest_line(target: str) -> tuple[str, str]:
        """Return the command that runs the tests, and by which markers some of them are left out."""
        (line,) = [line for line in make("--dry-run", target, cwd=elsewhere).stdout.splitlines() if "pytest" in line]
        command, _, left_out = line.partition(' -m "')
        return command, left_out.removesuffix('"')

    (quick, chosen), (tests, chosen_more), (rest, chosen_rest), (measured, chosen_again) = map(
        pytest_line, ("test-quick", "test", "test-rest", "coverage")
    )
    assert chosen == "not upstream and not thorough and not slow"
    assert chosen_more == "not upstream and not thorough"
    assert chosen_rest == "upstream or thorough"
    assert quick == tests == rest
    # All but those that train.
    assert measured == f"{tests} --ignore tests/overlays --ignore tests/recipes/launch"
    again, _, measure = chosen_again.partition('" ')
    assert again == chosen_more
    assert measure.startswith("--cov ")
    assert "--cov-fail-under=" in measure


def test_all_tests_are_those_and_the_rest(elsewhere: Path) -> None:
    def commands(target: str) -> list[str]:
        return [line for line in make("--dry-run", target, cwd=elsewhere).stdout.splitlines() if "pytest" in line]

    assert commands("test-all") == commands("test") + commands("test-rest")


@pytest.fixture
def installed(elsewhere: Path) -> Path:
    """Return a folder in which all is installed; its npu-overlays says what it is asked for, and fails where told."""
    tools = elsewhere / ".venv" / "bin"
    tools.mkdir(parents=True)
    (tools / "python").symlink_to(sys.executable)
    (tools / "npu-overlays").write_text('#!/bin/sh\necho "cells of $@"\ntest -z "$FAILING"\n', "utf-8")
    (tools / "npu-overlays").chmod(0o755)
    (elsewhere / ".venv" / "installed").touch()
    return elsewhere


def test_matrix_prints_what_the_command_does_also_for_github(installed: Path) -> None:
    done = make("matrix", cwd=installed, GITHUB_OUTPUT=str(installed / "output"))
    assert done.stdout == (installed / "output").read_text("utf-8") == "cells of matrix --format github\n"
    # The command itself knows whether its output is a terminal.
    assert make("matrix", cwd=installed).stdout == "cells of matrix\n"
    done = make("matrix", "FORMAT=gitlab", cwd=installed, SINCE="origin/a b")
    assert done.stdout == "cells of matrix --format gitlab --changed-since origin/a b\n"


def test_matrix_fails_where_the_command_does(installed: Path) -> None:
    done = make("matrix", cwd=installed, FAILING="yes", GITHUB_OUTPUT=str(installed / "output"))
    assert done.returncode != 0
    assert not (installed / "output").exists()


@pytest.mark.parametrize(("variables", "chosen"), [((), "--all"), (("STACK=verl-0.9.1",), "--stack verl-0.9.1")])
def test_a_release_is_of_every_overlay_or_of_what_is_asked_for(
    elsewhere: Path, variables: tuple[str, ...], chosen: str
) -> None:
    lines = make("--dry-run", "release", "same-bytes", *variables, cwd=elsewhere).stdout.splitlines()
    found = [re.fullmatch(r"(SOURCE_DATE_EPOCH=\S.*\S) \S+/npu-overlays ((?:build|sdist) .*)", line) for line in lines]
    assert [" ".join(one[2].split()) for one in found if one] == [
        f"build {chosen} --out release/files",
        f"sdist {chosen} --out release/files",
        f"build {chosen} --out release/again",
        f"sdist {chosen} --out release/again",
    ]
    # A development build of two checkouts of a commit is one.
    assert {one[1] for one in found if one} == {
        "SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null)}"
    }


def test_installs_once(elsewhere: Path) -> None:
    (elsewhere / ".venv" / "bin").mkdir(parents=True)
    (elsewhere / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (elsewhere / ".venv" / "installed-test").touch()
    assert "pip" not in make("--dry-run", "format", cwd=elsewhere).stdout
    later = (elsewhere / ".venv" / "installed-test").stat().st_mtime + 10
    os.utime(elsewhere / "pyproject.toml", (later, later))
    assert "pip" in make("--dry-run", "format", cwd=elsewhere).stdout


CI_STEPS = [
    ("wheels", True),
    ("test", True),
    ("lint", False),
    ("types", False),
    ("golden", False),
    ("test-rest", False),
]


@pytest.fixture
def checkout(elsewhere: Path) -> Path:
    """Return a folder with what CI runs, and a make that notes in `log` what it is asked for and how fresh it is."""
    for name in (".ci/run", "ci/fresh.sh"):
        (elsewhere / name).parent.mkdir()
        shutil.copy(ROOT / name, elsewhere / name)
    fake = elsewhere / "bin" / "make"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\n"
        'git=$(git config --get user.name || git ls-remote https://example.invalid 2>&1 | grep "not allowed")\n'
        'caches="$PIP_CACHE_DIR|$UV_CACHE_DIR|$NPU_OVERLAYS_CACHE|$XDG_CACHE_HOME"\n'
        'echo "$1|$HOME|$(ls -A "$HOME")|$git|$MAKE_TEST|$caches" >> log\n'
        'test "$1" != "$FAILING"\n',
        "utf-8",
    )
    # These are there already: a test installs nothing on the machine it runs on.
    for name in ("chromium", "quilt"):
        shutil.copy("/bin/true", fake.with_name(name))
    fake.chmod(0o755)
    (elsewhere / "home").mkdir()
    (elsewhere / "home" / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    return elsewhere


def ci(checkout: Path, failing: str) -> tuple[int, list[list[str]]]:
    """Run CI where the named step fails; return its exit code and what each step found."""
    (checkout / "log").unlink(missing_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PIP_", "UV_", "XDG_"))}
    own = {"PATH": f"{checkout / 'bin'}:{os.environ['PATH']}", "HOME": str(checkout / "home"), "FAILING": failing}
    caches = {"NPU_OVERLAYS_CACHE": "/nowhere", "XDG_CACHE_HOME": str(checkout / "caches"), "MAKE_TEST": "kept"}
    done = subprocess.run(["bash", ".ci/run"], cwd=checkout, env={**kept, **own, **caches}, check=False)
    return done.returncode, [line.split("|") for line in (checkout / "log").read_text("utf-8").splitlines()]


def test_ci_installs_what_tests_are_otherwise_skipped_for() -> None:
    (install,) = re.findall(r"apt-get install .*", (ROOT / ".ci/run").read_text("utf-8"))
    assert {"chromium", "quilt"} <= set(install.replace(";", "").split())


@pytest.mark.parametrize("failing", ["none", *(step for step, _ in CI_STEPS)])
def test_ci_runs_every_step_and_fails_where_one_fails(checkout: Path, failing: str) -> None:
    code, steps = ci(checkout, failing)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert [step[0] for step in steps] == [step for step, _ in CI_STEPS]
    assert (code == 0) == (failing == "none")


def test_ci_runs_the_commands_of_the_readme_as_on_a_new_machine(checkout: Path) -> None:
    _, steps = ci(checkout, "none")
    for (name, *found), (_, is_fresh) in zip(steps, CI_STEPS, strict=True):
        home, content, git, kept, pip_cache, uv_cache, cache, caches = found
        assert kept == "kept"
        if is_fresh:
            assert (content, "not allowed" in git, cache, caches) == ("", True, "", ""), name
            assert (pip_cache, uv_cache) == (str(checkout / "caches" / "pip"), str(checkout / "caches" / "uv"))
            assert not Path(home).exists()
        else:
            assert (home, git, cache) == (str(checkout / "home"), "Somebody", "/nowhere"), name


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


# Pages that Sphinx fills in link to pages that only its build has, and `sphinx-build -W` checks them.
WRITTEN_PAGES = [file for file in (ROOT / "docs").glob("*.md") if "{%" not in file.read_text("utf-8")]


@pytest.mark.parametrize("document", [*READMES, *(f"docs/{file.name}" for file in WRITTEN_PAGES)])
def test_every_link_to_a_file_leads_somewhere(document: str) -> None:
    file = ROOT / document
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)|src=\"(?!https?:)([^\"]+)", file.read_text("utf-8"))
    targets = [one or other for one, other in links]
    assert [target for target in targets if not (file.parent / target).exists()] == []
