"""Git: the one way to run it; of the user's configuration and surroundings a call gets what it asks for.

Never a part has what could run code, ask questions or point git at another repository: hooks, file system monitors,
transports that are programs, the variables git's own hooks are run with. Where only bytes matter, nothing of the user's
configuration has one either. Where a repository has to be reached, it decides how: ``insteadOf``, proxies, credentials.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from npu_overlays import process

# Those that say how a repository is reached, or configure git as the user wants it. All others are dropped: they point
# git at another repository, as its hooks' environment does, or change what its commands do.
_KEPT = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)|SSH(_COMMAND|_VARIANT)?|ASKPASS|SSL_\w+"
    r"|TERMINAL_PROMPT|HTTP_\w+|PROXY_\w+|CURL_\w+|TRACE\w*|EXEC_PATH|ALLOW_PROTOCOL|DISCOVERY_ACROSS_FILESYSTEM)"
)
_ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
}
_ALWAYS = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_LITERAL_PATHSPECS": "1", "GIT_TERMINAL_PROMPT": "0"}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
)
_TIMEOUT = 600.0


def alone(
    *arguments: str,
    cwd: Path | None = None,
    settings: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> bytes:
    """Run git so that nothing of the user's configuration has a part in it, and return its standard output.

    Args:
        arguments: the command and its arguments, ``--git-dir`` before them.
        cwd: working folder.
        settings: further configuration, as ``name=value``.
        env: further variables.
        stdin: bytes for standard input.

    Raises:
        ProcessError: git is missing, fails, or takes longer than ten minutes.
    """
    own = _environment({**_ALONE, **(env or {})})
    return process.run(_command(arguments, settings), cwd=cwd, env=own, stdin=stdin, timeout=_TIMEOUT)


def configured(*arguments: str, cwd: Path, settings: Sequence[str] = (), env: Mapping[str, str] | None = None) -> bytes:
    """Run git as the user has configured it, and return its standard output; raises `ProcessError` as `alone` does."""
    return process.run(_command(arguments, settings), cwd=cwd, env=_environment(env or {}), timeout=_TIMEOUT)


def watched(  # what a transfer depends on
    *arguments: str,
    settings: Sequence[str],
    env: Mapping[str, str],
    patience: float,
    timeout: float,
    heard: Callable[[str, float], None],
) -> None:
    """Run git as the user has configured it, and end it when it has said nothing for long.

    Args:
        arguments: the command and its arguments; it has to report its progress on standard error.
        settings: further configuration, as ``name=value``.
        env: further variables.
        patience: seconds of silence after which it is killed.
        timeout: seconds after which it is killed in any case.
        heard: called about once a second with the last line and the seconds since.

    Raises:
        SilentError: it was silent for too long.
        ProcessError: it fails in any other way.
    """
    command = _command(arguments, settings)
    process.watch(command, env=_environment(env), patience=patience, timeout=timeout, heard=heard)


def apply(patch: bytes, folder: Path, *options: str) -> None:
    """Apply a patch to the files in a folder that is no repository, without fuzz; raises `ProcessError`.

    Attributes and settings of the user's could make git ignore white space or convert line ends, and without a ceiling
    it would take a repository around the folder for its own.
    """
    settings = (f"core.attributesFile={os.devnull}", "core.autocrlf=false", "core.fileMode=true")
    ceiling = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    alone("apply", "--whitespace=nowarn", *options, "-", cwd=folder, settings=settings, env=ceiling, stdin=patch)


def _command(arguments: Sequence[str], settings: Sequence[str]) -> list[str]:
    return ["git", *(part for setting in (*_SETTINGS, *settings) for part in ("-c", setting)), *arguments]


def _environment(own: Mapping[str, str]) -> dict[str, str | None]:
    dropped = {name: None for name in os.environ if name.startswith("GIT_") and not _KEPT.fullmatch(name)}
    return {**dropped, **_ALWAYS, **own}
