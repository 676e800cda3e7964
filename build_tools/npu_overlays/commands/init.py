"""`init`: a project's name → a new overlay of it, complete and minimal."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.authoring.init.alternatives import sentences
from npu_overlays.authoring.init.base_layers import BaseLayers, missing, read_base_layers
from npu_overlays.authoring.init.init import CreatedOverlay, write_overlay
from npu_overlays.authoring.init.request import InitRequest, faults
from npu_overlays.commands.command import (
    json_option,
    list_option,
    not_built_option,
    option,
    packages_option,
    text_option,
    whole_path,
)
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import archives_as_json, pinned
from npu_overlays.errors import ConfigError, Problem, UsageError, collected
from npu_overlays.overlay.project import CONFIG_FILE
from npu_overlays.overlay.source_choice import choice_from
from npu_overlays.paths import as_typed
from npu_overlays.progress import about

SUMMARY = "start an overlay of any project, in a folder of its own"
DESCRIPTION = """\
Start an overlay of any project: a folder that is an ordinary Python project.
Once it is locked it builds a wheel, which is upstream's under another name
until you write a change. Its pyproject.toml ends with a comment: an example
change of one of the project's public Python functions, if it has any.

It pins the newest release on your package index (the one that pip's settings
name), or the one given by --release, by the sha256 of its archive; or, with
--commit, a commit of a repository, by its id or by a tag, which is then kept
beside the id. Of a release's files it takes the wheel for any platform, else
the one for this machine, else the sdist. If pip would take another file, `init`
lists what that file has in addition; --archive pins it. The folder has the name
of the pin, such as attrs@25.3.0, and lies in the folder of overlays if there is
one, else here. Existing files are not overwritten.

--layer builds on the work of others. If it names a layer, you choose the pin;
if it names an overlay, `init` takes over its pin and its layers. Everything in
the new folder is yours, and --label distinguishes its wheels from theirs.

examples:
  npu-overlays init attrs --suffix acme
  npu-overlays init attrs --suffix acme --release 25.3.0 my-attrs
  npu-overlays init verl --suffix acme --repository https://example.com/verl --commit v0.6.1
  npu-overlays init verl --layer ../npu-overlays/overlays/verl@d62da49 --label acme
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options for the new overlay."""

    root: Path
    project: str = option(metavar="PROJECT", help="its name on the package index, e.g. attrs")
    folder: Path | None = option(
        nargs="?",
        type=whole_path,
        metavar="DIR",
        help="where to write (default: PROJECT@PIN, in the folder of overlays if there is one)",
    )
    suffix: str = text_option("--suffix", "WORD", "name the wheel PROJECT-WORD; on a terminal you are asked")
    release: str = text_option("--release", "VERSION", "the release to pin (default: the newest)")
    archive: str = text_option("--archive", "FILE", "the release's wheel or sdist to pin, by its file name")
    commit: str = text_option("--commit", "ID|TAG", "the commit to pin instead: all 40 digits of its id, or a tag")
    repository: str = text_option("--repository", "URL", "the git repository that has the commit")
    layers: list[str] = list_option(
        "--layer", "LAYER", "build on this: the folder of a layer or of an overlay, or the name of an installed layer"
    )
    label: str = text_option("--label", "WORD", "distinguish it from others of the same pin; part of the version")
    packages: list[tuple[str, str]] = packages_option(
        "ship this folder or module, imported as NAME (default: what upstream installs)"
    )
    not_built: list[str] = not_built_option("files that upstream compiles or installs, and this wheel may lack")
    json: bool = json_option()


def _request(options: Options) -> InitRequest:
    """Return the options for the new overlay."""
    return InitRequest(
        name=options.project,
        release=options.release,
        archive=options.archive,
        commit=options.commit,
        repository=options.repository,
        suffix=options.suffix,
        label=options.label,
        layers=tuple(options.layers),
        packages=tuple(options.packages),
        not_built=tuple(options.not_built),
        parent=options.folder.parent if options.folder else options.root if options.root.is_dir() else Path.cwd(),
        folder=options.folder,
        choice=choice_from(os.environ),
    )


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    request, layered = _request(options), BaseLayers()
    problems: list[Problem] = []
    with collected(problems, ConfigError):
        layered = read_base_layers(request.layers, request.project, request.parent)
    if not (request.suffix or problems or options.json or "suffix" in layered.settings):
        request = replace(request, suffix=_ask(request.project))
    UsageError.raise_for([*faults(request), *(problems or missing(request, layered))])
    with about(request.project):
        started = write_overlay(request, layered)
    if options.json:
        console.json(_as_json(started))
    else:
        _report(console, started)
    return 0


def _ask(project: str) -> str:
    """Return the suffix that a person types, or an empty text where nobody is there to be asked."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        return ""
    sys.stderr.write(f"What is the wheel to be called? {project}-")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _report(console: Console, started: CreatedOverlay) -> None:
    overlay, pin = started.overlay, started.overlay.pin
    console.line(f"{overlay.folder}", style="green")
    console.line(f"  pins {f'commit {pin.commit}' if pin.commit else pinned(pin)}")
    for sentence in sentences(started.offer):
        console.line(f"  {sentence}")
    if overlay.layers:
        console.line(f"  on top of {' and '.join(layer.name for layer in overlay.layers)}")
    console.line(f"  ships {', '.join(pin.packages)} as {overlay.distribution}")
    for path in started.asking:
        what = f"{path} looks for files in the metadata of {pin.project}, which are the companion's and list none"
        console.line(f"  {what}: make it ask for {overlay.distribution}")
    name = as_typed(overlay.folder)
    shown = f", as the end of {name}/{CONFIG_FILE} shows" if started.example else f" below {name}/tree/"
    console.line(f"next: write a change{shown}, then")
    for command in ("lock", "check", "build"):
        console.line(f"  npu-overlays {command} {overlay.argument}")


def _as_json(started: CreatedOverlay) -> dict[str, object]:
    overlay = started.overlay
    return {
        "overlay": overlay.name,
        "folder": str(overlay.folder),
        "distribution": overlay.distribution,
        "commit": overlay.pin.commit,
        "archives": archives_as_json(overlay.pin),
        "preferred": started.offer.preferred,
        "lacks": list(started.offer.more),
        "others": list(started.offer.others),
        "asking": list(started.asking),
        "layers": [layer.name for layer in overlay.layers],
        "packages": list(overlay.pin.packages),
        "license-files": list(overlay.license_files),
        "files": list(started.files),
    }
