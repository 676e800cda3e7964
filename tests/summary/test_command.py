"""``python -m verl_npu_summary`` as users run it, on every Python that is there."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from npu_summary import jsontext, layout, yaml
from support.pythons import HERE

from .conftest import DIFF, SOURCE
from .samples import KNOWN_TEXT, change, chinese, distribution, file, transformers, typed, verl

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import SummarySite

pyyaml: Any = importlib.import_module("yaml")  # has no type hints of its own

# Elsewhere these are left to `make test-rest`.
ON_THIS_PYTHON = pytest.mark.parametrize("python", HERE, indirect=True)
BOTH = [verl("module_attr"), transformers()]
VERSION_LINES = (
    "verl-npu 1.0+npu.1.g796871d (verl 1.0 at 796871d7d092f7cbc6a64e7f4a3796f7a2217f5e, from the commit, "
    "overlay verl@796871d revision 1)\n"
    "transformers-npu 1.0+npu.1.g8365f70 (transformers 1.0 at 8365f70e9259c21058bf18f876006f945d2a99de, "
    "from the commit, overlay transformers@8365f70 revision 1)\n"
)


@pytest.fixture
def pair(site: SummarySite) -> SummarySite:
    for sample in BOTH:
        site.install(sample)
    return site


def test_every_rendering_on_every_python(pair: SummarySite, python: str) -> None:
    expected = {
        (): KNOWN_TEXT,
        ("--format", "text"): KNOWN_TEXT,
        ("--why",): layout.render(typed(*BOTH), why=True),
        ("--format", "yaml"): yaml.render(typed(*BOTH)),
        ("--format", "yaml", "--why"): yaml.render(typed(*BOTH), why=True),
        ("--format", "json"): jsontext.render(typed(*BOTH)),
        ("--format", "json", "--why"): jsontext.render(typed(*BOTH)),
        ("--version",): VERSION_LINES,
        ("--distribution", "verl"): layout.render(typed(BOTH[0])),
        ("--distribution", "transformers_npu", "--format", "yaml"): yaml.render(typed(BOTH[1])),
        ("--distribution", "transformers", "--distribution", "verl-npu"): KNOWN_TEXT,
        ("--version", "--distribution", "verl-npu"): VERSION_LINES.splitlines(keepends=True)[0],
    }
    for args, text in expected.items():
        done = pair.run(*args, python=python)
        assert (done.returncode, done.stderr, done.stdout) == (0, b"", text.encode()), args


def test_either_package_lists_both(pair: SummarySite) -> None:
    assert pair.run(package="transformers_npu_summary").stdout.decode() == KNOWN_TEXT


@pytest.mark.parametrize("sample", BOTH, ids=["verl", "transformers"])
def test_one_installed_alone_is_enough(site: SummarySite, sample: dict[str, Any]) -> None:
    package = site.install(sample).name
    done = site.run(package=package)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == layout.render(typed(sample))


def test_diff_is_printed_byte_for_byte_in_any_encoding(pair: SummarySite, python: str) -> None:
    done = pair.run("--diff", python=python, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", DIFF * 2)
    assert pair.run("--diff", "--distribution", "verl").stdout == DIFF


def test_missing_diff_is_an_error_that_hides_no_other(pair: SummarySite) -> None:
    (pair.folder / "verl_npu_summary" / "changes.diff").unlink()
    done = pair.run("--diff")
    assert (done.returncode, done.stdout) == (1, DIFF)
    assert b"verl_npu_summary: error: " in done.stderr
    assert b"pip install --force-reinstall --no-deps verl-npu" in done.stderr


@pytest.mark.parametrize("name", ["peft", "npu", ""])
def test_unknown_distribution_is_named_with_those_there_are(pair: SummarySite, name: str) -> None:
    done = pair.run("--distribution", name)
    assert (done.returncode, done.stdout) == (1, b"")
    message = f"verl_npu_summary: error: {name}: no patched distribution of that name is installed "
    assert done.stderr.decode() == f"{message}(installed: verl-npu, transformers-npu)\n"


def test_unknown_distribution_beside_a_known_one_still_shows_that(pair: SummarySite) -> None:
    done = pair.run("--distribution", "verl", "--distribution", "peft")
    assert done.returncode == 1
    assert done.stdout.decode() == layout.render(typed(BOTH[0]))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--format", "xml"], "invalid choice: 'xml'"),
        (["--form", "json"], "unrecognized arguments"),
        (["verl"], "unrecognized arguments: verl"),
        (["--diff", "--why"], "--why says how to show the summary; --diff shows none"),
        (["--version", "--format", "json"], "--format says how to show the summary; --version shows none"),
        (["--diff", "--version"], "give one of --diff, --version"),
        (["--verify", "--why"], "--why is for the summary; --verify knows --json"),
        (["--verify", "--format", "yaml"], "--format is for the summary; --verify knows --json"),
        (["--verify", "--stack", "x"], "unrecognized arguments: --stack x"),
        (["--", "--doctor"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_is_refused_with_2(pair: SummarySite, args: list[str], message: str) -> None:
    done = pair.run(*args)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert done.stderr.startswith(b"usage: python -m verl_npu_summary")


def test_help_teaches(pair: SummarySite, python: str) -> None:
    done = pair.run("--help", python=python, package="transformers_npu_summary", PYTHONIOENCODING="ascii")
    text = done.stdout.decode("ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    for taught in ("usage: python -m transformers_npu_summary", "examples:", "exit codes:", "a schema of its own"):
        assert taught in text
    for flag in ("--format", "--why", "--diff", "--distribution NAME", "--version", "--json"):
        assert flag in text
    for flag in ("--verify", "--verify --ray", "--audit", "--doctor"):
        assert f"python -m transformers_npu_summary {flag} " in text
    assert pair.run("-h", python=python, package="transformers_npu_summary").stdout == done.stdout


def test_nothing_installed_is_said_with_1(site: SummarySite) -> None:
    code = "import sys; from npu_summary.cli import main; sys.exit(main(sys.argv[1:], package='summary'))"
    for args in ([], ["--format", "json"], ["--diff"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *args],
            env=site.environment(PYTHONPATH=str(SOURCE.parent.parent)),
            cwd=site.folder,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(b"summary: error: no patched distribution is installed here")


@ON_THIS_PYTHON
@pytest.mark.parametrize("damage", [b"", b'{"schema": 1', b'{"schema": 1}', b'{"schema": 7}', b"\x00\xff"])
def test_damaged_data_is_named_with_its_repair_and_hides_no_other(
    pair: SummarySite, damage: bytes, python: str
) -> None:
    damaged = pair.folder / "verl_npu_summary" / "changes.json"
    damaged.write_bytes(damage)
    done = pair.run(python=python)
    assert done.returncode == 1
    assert done.stdout.decode() == layout.render(typed(BOTH[1]))
    message = done.stderr.decode()
    assert message.startswith(f"verl_npu_summary: error: {damaged}: ")
    assert message.endswith("; repair: pip install --force-reinstall --no-deps verl-npu\n")
    assert message.count("\n") == 1
    unharmed = pair.run("--distribution", "transformers", python=python)
    assert (unharmed.returncode, unharmed.stderr) == (0, b"")


def test_shadowed_copy_is_mentioned_and_no_error(pair: SummarySite, tmp_path: Path) -> None:
    other = type(pair)(tmp_path / "other")
    shadowed = other.install(verl())
    path = os.pathsep.join([str(pair.folder), str(other.folder)])
    done = pair.run(PYTHONPATH=path)
    assert (done.returncode, done.stdout.decode()) == (0, KNOWN_TEXT)
    first = pair.folder / "verl_npu_summary"
    note = f"verl_npu_summary: note: {shadowed} is not used: {first} comes first on sys.path\n"
    assert done.stderr.decode() == note
    assert pair.run("--distribution", "transformers", PYTHONPATH=path).stderr == b""
    script = f'exec "{sys.executable}" -B -m verl_npu_summary 2>&-'
    unheard = subprocess.run(
        ["/bin/sh", "-c", script], env=pair.environment(PYTHONPATH=path), stdout=subprocess.PIPE, check=False
    )
    assert (unheard.returncode, unheard.stdout.decode()) == (0, KNOWN_TEXT)


def test_runs_from_a_zip_file(pair: SummarySite, tmp_path: Path, python: str) -> None:
    archive = tmp_path / "site.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for entry in sorted(pair.folder.rglob("*")):
            opened.write(entry, entry.relative_to(pair.folder).as_posix())
    done = pair.run(python=python, PYTHONPATH=str(archive))
    assert (done.returncode, done.stderr, done.stdout.decode()) == (0, b"", KNOWN_TEXT)
    assert pair.run("--diff", python=python, PYTHONPATH=str(archive)).stdout == DIFF * 2


NARROW = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "ascii:strict"},
    {"PYTHONIOENCODING": "cp1252"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "POSIX"},
]


@ON_THIS_PYTHON
@pytest.mark.parametrize("env", NARROW, ids=lambda env: " ".join(map("=".join, env.items())))
def test_narrow_encodings_never_fail_and_lose_nothing(site: SummarySite, env: dict[str, str], python: str) -> None:
    site.install(chinese())
    text = site.run("--why", python=python, **env)
    assert (text.returncode, text.stderr) == (0, b"")
    encoding = "cp1252" if "cp1252" in env.values() else "utf-8"
    readable = {"größe", "gr\\xf6\\xdfe"}
    assert any(f"added         method         {name}\n" in text.stdout.decode(encoding) for name in readable)
    read = pyyaml.safe_load(site.run("--why", "--format", "yaml", python=python, **env).stdout.decode(encoding))
    wide = pyyaml.safe_load(yaml.render(typed(chinese()), why=True))
    assert read == wide
    report = json.loads(site.run("--format", "json", python=python, **env).stdout)
    assert report == {"schema": 1, "distributions": [chinese()]}


def test_chinese_is_printed_as_it_is_where_it_can_be(site: SummarySite) -> None:
    site.install(chinese())
    assert "昇腾上更快 – naïve “quotes” 🚀".encode() in site.run("--why", PYTHONIOENCODING="utf-8").stdout


def large() -> dict[str, Any]:
    """Return a distribution whose summary fills any pipe several times over."""
    return distribution("verl", [file("verl/x.py", [], [change("added", "method", f"f{n:06}") for n in range(12_000)])])


@ON_THIS_PYTHON
@pytest.mark.parametrize("args", [[], ["--format", "json"], ["--format", "yaml"]])
def test_reader_that_leaves_early_sees_no_traceback(site: SummarySite, args: list[str], python: str) -> None:
    site.install(large())
    command = [python, "-B", "-m", "verl_npu_summary", *args]
    with subprocess.Popen(command, env=site.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().strip()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 0


def test_closed_output_and_full_disk_end_without_a_traceback(pair: SummarySite, python: str) -> None:
    def shell(redirection: str) -> subprocess.CompletedProcess[bytes]:
        script = f'exec "{python}" -B -m verl_npu_summary {redirection}'
        return subprocess.run(["/bin/sh", "-c", script], env=pair.environment(), capture_output=True, check=False)

    closed = shell(">&-")
    assert (closed.returncode, closed.stderr) == (0, b"")
    assert shell(">&- 2>&-").returncode == 0
    if os.path.exists("/dev/full"):  # noqa: PTH110  # a device, not a path of ours
        full = shell("> /dev/full")
        assert (full.returncode, full.stderr) == (
            1,
            b"verl_npu_summary: error: standard output: No space left on device\n",
        )


def imported(site: SummarySite, *code: str) -> set[str]:
    """Return what a bare Python has imported after the code."""
    script = "; ".join(["import sys", *code, "print(*sys.modules, file=sys.stderr)"])
    done = subprocess.run([sys.executable, "-S", "-c", script], env=site.environment(), capture_output=True, check=True)
    return set(done.stderr.decode().split())


def test_importing_the_package_costs_nothing(pair: SummarySite) -> None:
    bare = imported(pair, "import os")  # which every ordinary start has imported
    assert imported(pair, "import verl_npu_summary") - bare == {"__future__", "verl_npu_summary"}


def test_plain_run_leaves_slow_modules_alone(pair: SummarySite) -> None:
    run = "from verl_npu_summary.cli import main; main([], package='x')"
    slow = {"argparse", "dataclasses", "importlib.metadata", "inspect", "pathlib", "typing", "yaml", "zipfile"}
    assert not slow & (imported(pair, run) - imported(pair))
    assert "verl_npu_summary.layout" in imported(pair, run)


def test_program_gets_the_text_to_log(pair: SummarySite, python: str) -> None:
    code = "import sys, verl_npu_summary as s; sys.stdout.buffer.write((s.text() + s.text()).encode())"

    def ask() -> bytes:
        command = [python, "-B", "-c", code]
        return subprocess.run(command, env=pair.environment(), capture_output=True, check=True).stdout

    assert ask().decode() == KNOWN_TEXT * 2
    (pair.folder / "verl_npu_summary" / "changes.json").write_bytes(b"{")
    text = ask().decode()
    assert text.startswith(layout.render(typed(BOTH[1])) + str(pair.folder))
    assert text.endswith("; repair: pip install --force-reinstall --no-deps verl-npu\n")


def test_json_is_short_for_the_format(pair: SummarySite) -> None:
    assert pair.run("--json").stdout == pair.run("--format", "json").stdout


def test_what_npu_doctor_does_is_handed_over_to_it(pair: SummarySite) -> None:
    (pair.folder / "npu_doctor").mkdir()
    (pair.folder / "npu_doctor" / "__init__.py").touch()
    (pair.folder / "npu_doctor" / "cli.py").write_text("def main(argv):\n    print(argv)\n    return 5\n")
    for args in (["--doctor", "--json"], ["--audit", "--script", "x.py", "--", "--diff"], ["--verify", "--ray=a:1"]):
        done = pair.run(*args)
        assert (done.returncode, done.stdout.decode(), done.stderr) == (5, f"{args}\n", b"")


@ON_THIS_PYTHON
@pytest.mark.parametrize("args", [["--doctor"], ["--audit", "--json"], ["--verify", "--ray"], ["--doctor", "--help"]])
def test_without_npu_doctor_the_command_that_installs_it_is_named(
    pair: SummarySite, args: list[str], python: str
) -> None:
    done = subprocess.run(
        [python, "-B", "-S", "-m", "verl_npu_summary", *args], env=pair.environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{python} -m pip install npu-doctor".encode() in done.stderr


def test_what_was_made_from_an_archive_says_so(site: SummarySite) -> None:
    sample = verl()
    archive = {"kind": "archive", "archive": "verl-1.0-py3-none-any.whl", "sha256": "3" * 64}
    sample["upstream"] |= {"source": archive, "missing": ["recipe/a.py", "recipe/b.py"], "compared": False, "tag": "v1"}
    site.install(sample)
    told = site.run("--version").stdout.decode()
    assert "(v1) (unconfirmed: the archive was never compared with it)" in told
    assert "from verl-1.0-py3-none-any.whl, which lacks 2 files of the commit" in told
    sample["upstream"] |= {"commit": "", "compared": True, "missing": []}
    (site.folder / "verl_npu_summary" / "changes.json").write_text(json.dumps(sample))
    assert (
        "(verl 1.0, release archive, from verl-1.0-py3-none-any.whl, overlay" in site.run("--version").stdout.decode()
    )


def test_the_heading_says_what_the_changes_are_for(site: SummarySite) -> None:
    site.install({**verl(), "purpose": ""})
    assert f"{'=' * 32} Patch Summary {'=' * 34}" in site.run().stdout.decode()
    site.install({**transformers(), "purpose": "TPU"})
    assert f"{'=' * 32} TPU Patch Summary {'=' * 34}" in site.run().stdout.decode()
