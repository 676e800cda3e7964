"""An error that comes from the environment names the variable, and what it takes; what is empty is not set."""

from __future__ import annotations

import io
from typing import Any

import pytest

from npu_overlays.commands.reasons import reasons
from npu_overlays.errors import UsageError

from .sample import Sample

NOBODY = "~nobody-by-this-name/x"


@pytest.mark.parametrize(
    ("name", "value", "code", "said"),
    [
        *(
            ("NPU_OVERLAYS_SOURCE", one, 2, f"`{one}` is not a source\n    fix: set it to one of auto, git, archive")
            for one in ("gti", "ftp")
        ),
        ("NPU_OVERLAYS_CACHE", NOBODY, 2, f"`{NOBODY}` names the home folder of a user who does not exist"),
        ("NPU_OVERLAYS_CACHE", "/dev/null", 6, "this is a symbolic link or no file"),
        ("https_proxy", "http://x:y", 4, "settings for certificates or proxies do not work: Invalid port: 'y'"),
        ("LIB_PATH", NOBODY, 4, "there is no such folder"),
        ("LIB_PATH", "/nowhere", 4, "there is no such folder"),
        ("LIB_PATH", "/", 4, "not a git repository"),
        *(("NPU_OVERLAYS_PATIENCE", one, 2, f"`{one}` is no number of seconds") for one in ("x", "nan", "0", "-1")),
    ],
)
def test_what_a_variable_does_not_take_is_refused_by_its_name(
    sample: Sample, name: str, value: str, code: int, said: str
) -> None:
    config = sample.folder / "gitconfig"
    if name == "NPU_OVERLAYS_PATIENCE":  # which is asked for where there is a connection to wait for
        config.write_text(f'[url "https://127.0.0.1:9/"]\n\tinsteadOf = {sample.lib.path.parent.as_uri()}/\n')
    more: dict[str, Any] = {"NPU_OVERLAYS_CACHE": str(sample.folder / "empty"), name: value}
    where = ("--overlays", sample.overlays, "--out", sample.folder / "out")
    source = ("--source", "archive") if name == "https_proxy" else ()
    done = sample.environment.cli("build", sample.lib_name, *where, *source, **more)
    assert (done.code, done.out) == (code, "")
    assert name in done.err
    assert said in done.err
    assert "unexpected" not in done.err
    assert not (sample.folder / "out").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "") for name in ("NPU_OVERLAYS_SOURCE", "NPU_OVERLAYS_PATIENCE", "LIB_PATH", "SOURCE_DATE_EPOCH")),
        ("TMPDIR", "/nowhere"),
        ("TMPDIR", "/proc"),
        ("LD_LIBRARY_PATH", NOBODY),
    ],
)
def test_what_is_empty_or_no_concern_of_a_build_is_passed_over(sample: Sample, name: str, value: str) -> None:
    where = ("--overlays", sample.overlays, "--out", sample.folder / "out")
    more: dict[str, Any] = {name: value}
    sample.environment.ok("build", sample.lib_name, *where, **more)


@pytest.mark.parametrize("variable", ["VISUAL", "EDITOR"])
@pytest.mark.parametrize("value", ["no-such-editor", "vi '", "false"])
def test_an_editor_that_is_none_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    with pytest.raises(UsageError) as raised:
        reasons([("edited", "f")], "", ask=True)
    (problem,) = raised.value.problems
    assert problem.where == variable
    assert problem.what.startswith(f"`{value}` is no editor: ")
