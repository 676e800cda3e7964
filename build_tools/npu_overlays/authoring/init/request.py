"""Request: what a user wants a new overlay to be, and the mistakes in it that show without upstream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name

from npu_overlays.authoring.new_folder import presence
from npu_overlays.errors import Problem
from npu_overlays.overlay.bounds import version_of
from npu_overlays.overlay.pin_faults import url_fault
from npu_overlays.overlay.settings import check_words
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.overlay.tables import Table
from npu_overlays.paths import at_home, unsafe
from npu_overlays.sources.pin import clone_variable

ELSEWHERE = "name another folder, behind PROJECT"
_FILE = re.compile(r"[^/\\\s]+(\.whl|\.tar\.gz|\.zip)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGITS = re.compile(r"[0-9a-f]{4,40}")
# What `git check-ref-format` takes.
_TAG = re.compile(r"(?![-./])(?!.*(\.\.|//|/\.|@\{|\.lock(/|$)|[./]$))[^\x00-\x20\x7f ~^:?*\[\\]+")


@dataclass(frozen=True, kw_only=True)
class InitRequest:
    """What a new overlay should be."""

    name: str  # upstream's distribution name, as it was typed
    release: str = ""  # the version of the release to pin; empty for the newest
    archive: str = ""  # the name of the release's file to pin; empty for the best
    # The commit to pin instead, by its id or by a tag, and where git has it.
    commit: str = ""
    repository: str = ""
    suffix: str = ""  # what the wheel's name adds to upstream's; empty where the layers have it
    label: str = ""  # tells overlays on one pin apart
    layers: tuple[str, ...] = ()  # layers, or an overlay whose pin and layers it takes over
    # The paths that are shipped, each with its import name where the path does not show it; empty to find out.
    packages: tuple[tuple[str, str], ...] = ()
    not_built: tuple[str, ...] = ()  # what of upstream is not built, or left out
    # Paths in the repository that will be changed, which show where packages of a release are there.
    named: tuple[str, ...] = ()
    # The folder to write into, and the folder to write; None for one that is named after the pin.
    parent: Path
    folder: Path | None = None
    choice: Choice  # where upstream should come from
    elsewhere: str = ELSEWHERE  # how the user chooses another place, if the folder exists already

    @property
    def project(self) -> str:
        """Upstream's distribution name, normalised."""
        return canonicalize_name(self.name)

    @property
    def tag(self) -> str:
        """The tag that names the commit; empty if an id does. A text that looks like an id is no tag."""
        name = self.commit.removeprefix("refs/tags/")
        return name if _TAG.fullmatch(name) and (name != self.commit or not _DIGITS.fullmatch(name)) else ""


def faults(request: InitRequest) -> Iterator[Problem]:
    """Yield all mistakes in a request that show without upstream."""
    try:
        canonicalize_name(request.name, validate=True)
    except InvalidName:
        what = f"`{request.name}` is no name of a project"
        yield Problem(where="PROJECT", what=what, fix="write it as the package index does: attrs, for example")
    words = {"suffix": request.suffix, "label": request.label}
    table = Table(words, where="", key="", problems=[])
    check_words(table, words, "choose another word: acme, for example")
    for one in table.problems:
        option = f"--{one.where[2:]}"
        yield Problem(where=option, what=one.what, fix=one.fix, options=((option, "acme"),))
    yield from _pin_faults(request)
    for path, name in request.packages:
        if unsafe(path) or (name and not all(part.isidentifier() for part in name.split("."))):
            fix = "write a path inside the repository, such as src/lib or python/lib=lib"
            yield Problem(where="--package", what=f"`{path}` cannot be shipped as `{name or path}`", fix=fix)
    if request.folder:
        yield from presence(request.folder, request.elsewhere)


def _pin_faults(request: InitRequest) -> Iterator[Problem]:
    if request.archive and request.commit:
        fix = "leave one of them out: --archive names a file of a release"
        yield Problem(where="--commit, --archive", what="are both given", fix=fix)
    if request.archive and not _FILE.fullmatch(request.archive):
        fix = "name a file as the package index does: attrs-25.3.0-py3-none-any.whl"
        yield Problem(where="--archive", what=f"`{request.archive}` is neither a wheel nor an sdist", fix=fix)
    if request.commit and request.release:
        fix = "leave one of them out: a release is pinned by its archive, a commit by its id"
        yield Problem(where="--commit, --release", what="are both given", fix=fix)
    if request.release and version_of(request.release) is None:
        what, options = f"`{request.release}` is not a version", (("--release", "25.3.0"),)
        yield Problem(where="--release", what=what, fix="write it as the package index does", options=options)
    if request.commit and not request.tag and not _COMMIT.fullmatch(request.commit):
        fix = "write all 40 hex digits, lower case (git rev-parse gives them), or the name of a tag"
        what = "a full commit id" if _DIGITS.fullmatch(request.commit) else "a commit id or a name that a tag can have"
        yield Problem(where="--commit", what=f"`{request.commit}` is not {what}", fix=fix)
    if request.repository and not request.commit:
        what, fix = "is missing, and --repository needs it", "give both, or neither for a release"
        yield Problem(where="--commit", what=what, fix=fix, options=(("--commit", "COMMIT"),))
    if request.repository and (fault := url_fault(request.repository)):
        yield _no_url(request, fault)


def _no_url(request: InitRequest, fault: str) -> Problem:
    local = at_home(request.repository).absolute()
    if not local.is_dir():
        # Not the URL itself: it may hold a password.
        return Problem(
            where="--repository", what=fault, fix="write a URL that git takes, such as https://github.com/x/y"
        )
    variable = clone_variable(request.project)
    fix = (
        f"write the URL from which anybody can clone it, and set {variable}={local} so that the clone here is used;"
        f" or write {local.as_uri()}, a pin that only this machine can build"
    )
    return Problem(where="--repository", what=f"{local} is a folder of this machine, and a pin names a URL", fix=fix)
