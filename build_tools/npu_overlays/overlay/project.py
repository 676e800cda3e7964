"""Projects: an overlay's own settings."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import ALWAYS, Bounds
from npu_overlays.overlay.tables import place_in
from npu_overlays.paths import as_argument
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import Source, SourceKind
from npu_summary.versions import local_parts

CONFIG_FILE = "pyproject.toml"
LAYER_FILE = "layer.toml"
STACKS_FOLDER = "stacks"
# In an sdist, which is one folder, the overlays it depends on lie below it under this name.
BUNDLED = "_overlays"


@dataclass(frozen=True, kw_only=True)
class TextEdit:
    """One counted substitution in files that are not Python."""

    paths: tuple[str, ...]
    find: str
    replace: str
    count: int
    why: str
    bounds: Bounds = ALWAYS
    accept: tuple[Acceptance, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """A layer's statements about an added file: its versions, and the accepted dangers."""

    path: str
    bounds: Bounds = ALWAYS
    accept: tuple[Acceptance, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Drop:
    """An item that a layer leaves out of those below it: ``path``, ``path:Symbol`` or ``folder/``, and why."""

    name: str
    why: str
    bounds: Bounds = ALWAYS

    def covers(self, name: str) -> bool:
        """Return whether it leaves out this name, by itself or with its folder."""
        return name == self.name or (self.name.endswith("/") and name.startswith(self.name))


@dataclass(frozen=True, kw_only=True)
class Assigned:
    """Assignments of upstream's code at run time in packages that the wheel does not hold."""

    when: str  # what has to happen for it
    what: tuple[str, ...]  # ``module:symbol``, each; ``*`` stands for any characters
    why: str  # the reason that it is left so
    bounds: Bounds = ALWAYS  # to which versions of upstream it applies


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One folder of changes: of a project, of a site, or of a single pin."""

    name: str  # what it is called, in messages and in the summary
    folder: Path  # where it lies
    # the file in which it says what no file of its own can, and the key of the table that holds it
    settings: tuple[str, str] = (LAYER_FILE, "")
    edits: tuple[TextEdit, ...] = ()  # substitutions in files that are not Python
    drops: tuple[Drop, ...] = ()  # what it leaves out of the layers below it
    files: tuple[FileSettings, ...] = ()  # its settings of added files in its ``tree/``
    assigned: tuple[Assigned, ...] = ()  # what upstream still assigns at run time

    text: str = field(default="", compare=False, repr=False)  # of the file of its settings, as it was read

    def where(self, key: str) -> str:
        """Return the place of one of its settings, for messages."""
        file, table = self.settings
        return place_in(self.folder / file, f"{table}.{key}" if table else key, self.text)

    def label(self, path: str) -> str:
        """Return the name of one of its files in messages, independent of the folder's place."""
        return f"{self.name}/{path}"


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """A pin, with the layers of its wheel."""

    folder: Path  # where it lies
    suffix: str  # what its wheel's name adds to upstream's: ``npu`` for ``verl-npu``
    purpose: str = ""  # what the changes are for, in the words users read: ``NPU``; empty to leave it out
    label: str = ""  # tells overlays on one pin apart; part of the name and of the version
    revision: int = 0  # the last one that was given out of this overlay on this pin, counted from 1; 0 where none was
    doctor: bool = False  # whether its wheel has an extra of that name, with which npu-doctor is installed
    pin: Pin  # the upstream commit or release
    layers: tuple[Layer, ...] = ()  # what it is made of, lowest first, without what lies in its own folder
    license_files: tuple[str, ...] = ()  # repository paths of upstream's licence and notice
    dependencies: tuple[str, ...] = ()  # requirements added to upstream's
    # globs of what upstream's build may compile or install elsewhere, and this wheel ships as it is or not at all
    not_built: tuple[str, ...] = ()
    # those of them that its layers do not say: these serve other pins, which have other files
    own_not_built: tuple[str, ...] = ()
    edits: tuple[TextEdit, ...] = ()  # substitutions in non-Python files that are this pin's own
    drops: tuple[Drop, ...] = ()  # what it drops of its layers
    files: tuple[FileSettings, ...] = ()  # its settings of this pin's own added files
    assigned: tuple[Assigned, ...] = ()  # what only this pin's upstream still assigns at run time
    text: str = field(default="", compare=False, repr=False)  # of its configuration, as it was read
    # when all of this was read, in nanoseconds since the epoch
    read_at: int = field(default_factory=time.time_ns, compare=False, repr=False)

    @property
    def chain(self) -> tuple[Layer, ...]:
        """Its layers, lowest first; its own folder is the last."""
        own = Layer(
            name=self.name,
            folder=self.folder,
            settings=(CONFIG_FILE, "tool.overlay"),
            edits=self.edits,
            drops=self.drops,
            files=self.files,
            assigned=self.assigned,
            text=self.text,
        )
        return (*self.layers, own)

    @property
    def name(self) -> str:
        """``<project>@<first seven digits of the commit, or version>``, and the label if there is one."""
        return f"{self.pin.project}@{self.pin.short}{f'-{self.label}' if self.label else ''}"

    @property
    def argument(self) -> str:
        """Its name on a command line in the current folder."""
        return as_argument(self.folder)

    @property
    def distribution(self) -> str:
        """Name of the wheel it builds, ``verl-npu``."""
        return f"{self.pin.project}-{self.suffix}"

    @property
    def summary_package(self) -> str:
        """Import name of the summary package in its wheel."""
        return f"{self.distribution.replace('-', '_')}_summary"

    @property
    def root(self) -> Path:
        """The folder of its sibling overlays."""
        bundled = self.folder / BUNDLED
        return bundled if bundled.is_dir() else self.folder.parent

    def version(self, upstream: str, source: Source, build: str) -> str:
        """Return the wheel's version: upstream's, with a local version that names the overlay and the pin.

        An archive can lack files of the commit, so wheels from it have another version: ``a`` and its digest instead of
        ``g`` and the commit. Installers prefer the commit's. `build` is the number of a revision, or the text for a
        development build after it.
        """
        bytes_of = f"g{source.commit[:7]}" if source.kind == "git" else f"a{source.sha256[:7]}"
        parts = [self.suffix, build, *filter(None, [self.label]), bytes_of]
        return f"{upstream}{'.' if '+' in upstream else '+'}{'.'.join(parts)}"


def source_kind(version: str) -> SourceKind | None:
    """Return the kind of source in one of our versions; None if it has none."""
    kinds: dict[str, SourceKind] = {"g": "git", "a": "archive"}
    return kinds.get(local_parts(version).get("bytes", "")[:1])
