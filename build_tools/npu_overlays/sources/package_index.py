"""Package index: the user's pip configuration → the indexes and folders it names, each ready to be asked."""

from __future__ import annotations

import ast
import functools
import math
import re
import ssl
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

from npu_overlays import process
from npu_overlays.errors import Problem, SourceError
from npu_overlays.paths import at_home
from npu_overlays.sources.silent_hosts import patience

if TYPE_CHECKING:
    from unearth import Link, PackageFinder
    from unearth.fetchers import PyPIClient

# As pip has it: a later section wins over an earlier one.
_SECTIONS = ("global", "download", ":env:")
_LINE = re.compile(r"(?P<section>:env:|[\w-]+)\.(?P<key>[\w-]+)=(?P<value>.*)")
# Pip's message about an invalid value of an option.
_OPTION = re.compile(r"\boption ([\w-]+):")
_YES = ("1", "true", "yes", "y", "t", "on")
_NO = ("", "0", "false", "no", "n", "f", "off")


@dataclass(frozen=True, kw_only=True)
class Index:
    """One index, page of links or folder."""

    shown: str  # how it is called in messages
    finder: PackageFinder  # looks there, and nowhere else
    session: PyPIClient  # fetches from there

    def links(self, distribution: str) -> Iterator[Link]:
        """Yield its files of a distribution, for any Python and platform."""
        return (found.link for found in self.finder.find_all_packages(distribution, allow_yanked=True))


@contextmanager
def indexes(wanted: str) -> Iterator[list[Index]]:
    """Give the indexes and folders of pip, folders first; raises `SourceError` if its configuration cannot be read.

    Args:
        wanted: what is looked for, for messages.
    """
    from unearth import PackageFinder  # noqa: PLC0415  # 0.2 s, and of use only for what is not in the cache

    settings = _settings(wanted)
    _refuse_wrong(settings)
    folders = [_located(text) for text in settings.get("find-links", "").split()]
    urls = [] if settings.get("no-index", "").lower() in _YES else _urls(settings)
    with _session(settings, wanted, urls) as session:
        finder = functools.partial(PackageFinder, session=session, ignore_compatibility=True)
        found = [finder(find_links=[folder]) for folder in folders]
        # unearth knows pip's default.
        found += [finder(index_urls=[url] if url else []) for url in urls]
        yield [
            Index(shown=process.without_credentials(one.sources[0]["url"]), finder=one, session=session)
            for one in found
        ]


def _refuse_wrong(settings: Mapping[str, str]) -> None:
    """Refuse settings that pip refuses too, by the names of their variables."""
    no_index, timeout = settings.get("no-index", ""), _timeout(settings)
    problems = []
    if no_index.lower() not in (*_YES, *_NO):
        where, what = "PIP_NO_INDEX, or no-index of pip's configuration", f"`{no_index}` is neither yes nor no"
        problems.append(
            Problem(where=where, what=what, fix="set it to 1 for no index, or to 0 for those of pip's configuration")
        )
    if timeout and not 0 < _number(timeout) < math.inf:
        where, what = "PIP_TIMEOUT, or timeout of pip's configuration", f"`{timeout}` is no number of seconds above 0"
        problems.append(Problem(where=where, what=what, fix="set it to 15, pip's default, or unset it"))
    SourceError.raise_for(problems)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _urls(settings: Mapping[str, str]) -> list[str]:
    first = settings.get("index-url") or settings.get("pypi-url") or ""
    return [first, *settings.get("extra-index-url", "").split()]


def _located(text: str) -> str:
    return text if "://" in text else str(at_home(text).absolute())


def _settings(wanted: str) -> dict[str, str]:
    """Return pip's own view of its files and variables, each option as it would apply to ``pip download``."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-pip-") as empty:
        # pip sees an empty folder as the current one, so nothing lying about is taken for a module.
        command = [sys.executable, "-m", "pip", "config", "list", "--disable-pip-version-check"]
        try:
            output = process.run(command, cwd=Path(empty), timeout=60).decode(errors="replace")
        except process.ProcessError as error:
            raise SourceError(_unreadable(wanted, error.output)) from error
    found = [match for line in output.splitlines() if (match := _LINE.fullmatch(line))]
    found.sort(key=lambda match: _SECTIONS.index(match["section"]) if match["section"] in _SECTIONS else -1)
    return {one["key"]: str(ast.literal_eval(one["value"])) for one in found if one["section"] in _SECTIONS}


def _unreadable(wanted: str, said: str) -> Problem:
    if "No module named pip" in said:
        what = f"pip's configuration says where from, but {sys.executable} has no pip"
        return Problem(
            where=wanted, what=what, fix=f"run `{sys.executable} -m ensurepip`, or add pip to the build requirements"
        )
    what = f"pip's configuration cannot be read: {said.splitlines()[-1]}"
    option = _OPTION.search(said)
    variable = f" (or the variable PIP_{option[1].upper().replace('-', '_')})" if option else ""
    return Problem(where=wanted, what=what, fix=f"correct it{variable} until `pip config list` prints it")


def _session(settings: Mapping[str, str], wanted: str, urls: list[str]) -> PyPIClient:
    from httpx2 import HTTPTransport, InvalidURL  # noqa: PLC0415  # as above
    from unearth.auth import MultiDomainBasicAuth  # noqa: PLC0415
    from unearth.fetchers import PyPIClient  # noqa: PLC0415

    trusted = settings.get("trusted-host", "").split()
    proxy = settings.get("proxy")
    proxies = {"http": proxy, "https": proxy} if proxy else getproxies()
    cert = settings.get("client-cert") or None
    try:
        session = PyPIClient(
            trusted_hosts=trusted,
            verify=_verify(settings.get("cert", "")),
            cert=cert,
            timeout=min(patience(), _number(_timeout(settings) or "inf")),
            follow_redirects=True,
            proxy=_address(settings["proxy"]) if settings.get("proxy") else None,
            # Its own way to trusted hosts goes past every proxy.
            mounts={
                f"{scheme}://{host}": HTTPTransport(verify=False, cert=cert, proxy=_proxy(proxies, scheme, host))
                for host in trusted
                for scheme in ("http", "https")
            },
        )
    except (OSError, ValueError, InvalidURL) as error:
        what = f"pip's settings for certificates or proxies do not work: {process.without_credentials(str(error))}"
        fix = "correct cert, client-cert or proxy in pip's configuration (PIP_CERT, …), or the variable https_proxy"
        raise SourceError(Problem(where=wanted, what=what, fix=fix)) from error
    session.auth = MultiDomainBasicAuth(prompting=False, index_urls=[url for url in urls if url])
    return session


def _proxy(proxies: Mapping[str, str], scheme: str, host: str) -> str | None:
    found = proxies.get(scheme) or proxies.get("all")
    return _address(found) if found and not proxy_bypass(host) else None


def _address(text: str) -> str:
    return text if "://" in text else f"http://{text}"


def _timeout(settings: Mapping[str, str]) -> str:
    return settings.get("timeout") or settings.get("default-timeout", "")


def _verify(cert: str) -> ssl.SSLContext | bool:
    if not cert:
        return True
    path = at_home(cert)
    return ssl.create_default_context(capath=path) if path.is_dir() else ssl.create_default_context(cafile=path)
