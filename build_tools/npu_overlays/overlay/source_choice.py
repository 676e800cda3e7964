"""Source choice: what a user asks for, in options or variables → where one overlay's upstream comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from email.parser import HeaderParser
from pathlib import Path
from typing import get_args

from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.project import Overlay, source_kind
from npu_overlays.paths import at_home
from npu_overlays.sources.pin import clone_variable
from npu_overlays.sources.tree import Mode

SOURCE_VARIABLE = "NPU_OVERLAYS_SOURCE"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a user asks for."""

    mode: Mode | None = None  # which kind of source; None if none is requested
    where: str = SOURCE_VARIABLE  # the option or variable that says so, for messages
    # clones of the user's, by the variable that names one: ``VERL_PATH``
    clones: Mapping[str, Path] = field(default_factory=dict)

    def clone(self, project: str) -> Path | None:
        """Return the clone to take a project's commit from."""
        return self.clones.get(clone_variable(project))

    def mode_for(self, overlay: Overlay) -> Mode:
        """Return the kind of source for an overlay: the requested one, or that of the sdist around it.

        The version of an sdist says where the bytes of its wheel come from, so it is the same on every machine.

        Raises:
            UsageError: the two differ.
        """
        of_sdist = source_kind(sdist_version(overlay))
        mode = self.mode or of_sdist or "auto"
        if of_sdist and mode not in (of_sdist, "auto"):
            what = f"asks for {mode}, and this sdist is of the wheel built from {of_sdist}"
            raise UsageError(Problem(where=self.where, what=what, fix=f"leave it out, or say {of_sdist}"))
        return of_sdist or mode


def choice_from(variables: Mapping[str, str]) -> Choice:
    """Return what environment variables ask for; raises `UsageError` for an unknown kind of source."""
    clones = {name: at_home(value) for name, value in variables.items() if name.endswith("_PATH") and value}
    text = variables.get(SOURCE_VARIABLE)
    if not text:
        return Choice(clones=clones)
    known: tuple[Mode, ...] = get_args(Mode)
    mode = next((one for one in known if one == text), None)
    if mode is None:
        what = f"`{text}` is not a source"
        raise UsageError(Problem(where=SOURCE_VARIABLE, what=what, fix=f"set it to one of {', '.join(known)}"))
    return Choice(mode=mode, clones=clones)


def sdist_version(overlay: Overlay) -> str:
    """Return the version of the sdist around an overlay, which is also its wheel's, or an empty text."""
    file = overlay.folder / "PKG-INFO"
    return str(HeaderParser().parsestr(file.read_text("utf-8"))["Version"]) if file.is_file() else ""
