"""Owning: what is decided of what a pin says itself → the files of its folder, with that changed where it stands.

What a layer says serves other pins, so a pin leaves it out by name. What lies in its own folder is for it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npu_overlays.errors import OverlayError, Problem
from npu_overlays.overlay.mails import with_mail
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import CONFIG_FILE, Overlay, TextEdit
from npu_overlays.overlay.said import OverlayFile, SourcedEdit
from npu_overlays.porting.exchanging import exchanged
from npu_overlays.porting.restating import Move
from npu_overlays.porting.rows import Said
from npu_overlays.refreshing.settings import with_change, with_new, without_file
from npu_overlays.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class Own:
    """What is decided of what a pin says itself.

    Args:
        gone: what is left out.
        moves: operations whose targets stand elsewhere now.
        longer: substitutions, each with the text above it with which it occurs once.
    """

    gone: Sequence[Said] = ()
    moves: Sequence[Move] = ()
    longer: Sequence[tuple[SourcedEdit, str]] = ()

    @property
    def elsewhere(self) -> list[Move]:
        """The operations that are to be stated in another file, and are only taken out of their own here."""
        return [one for one in self.moves if not one.operation.shared and one.path != one.operation.path]


def own_files(own: Own, overlay: Overlay, now: SourceTree) -> tuple[dict[str, bytes | None], list[Problem]]:
    """Return the files of a pin's folder that become otherwise, by their paths in it, and what stands against that.

    Args:
        own: what is decided.
        overlay: the pin.
        now: upstream.

    Returns:
        The files in the order in which they are to be written, with None for those that go; and the problems.
    """
    layer = overlay.chain[-1]
    files: dict[str, bytes | None] = {}
    problems: list[Problem] = []
    gone = [one for one in own.gone if isinstance(one, Operation)]
    for file in dict.fromkeys(one.file for one in (*gone, *(move.operation for move in own.moves))):
        here = [one for one in gone if one.file == file]
        try:
            moves = [move for move in own.moves if move.operation.file == file]
            files[_path(file)] = exchanged(layer, _path(file), here, moves, now)
        except OverlayError as error:
            problems += error.problems
    settings = (layer.folder / CONFIG_FILE).read_text("utf-8")
    changed = _settings(settings, own, overlay)
    if changed != settings:
        files[CONFIG_FILE] = changed.encode()
    # Settings of an added file go before it: a setting for a file that is not there is a mistake.
    # Taking out a mail changes the numbers of those behind it.
    for left in sorted((one for one in own.gone if isinstance(one, OverlayFile)), key=lambda one: -one.mail):
        path = _path(left.holder)
        mailbox = files.get(path) or (layer.folder / path).read_bytes()
        files[path] = with_mail(mailbox, left.mail, b"") or None
    return files, problems


def _path(label: str) -> str:
    """Return the path inside its layer of a file that messages call so."""
    return label.partition("/")[2]


def _settings(text: str, own: Own, overlay: Overlay) -> str:
    """Return a pin's configuration with its substitutions changed, and without what it says of files that go."""
    changes = [(one, "", None) for one in own.gone if isinstance(one, SourcedEdit)]
    lengthened = [(one, lead + one.edit.find, lead + one.edit.replace) for one, lead in own.longer]
    # What became of the paths of those that several files share.
    stated: dict[int, TextEdit] = {}
    for one, find, replacement in (*changes, *lengthened):
        edit = stated.get(id(one.edit), one.edit)
        text, split = with_change(CONFIG_FILE, text, edit, (one.path,), replacement, find=find)
        text = with_new(CONFIG_FILE, text, split) if split else text
        stated[id(one.edit)] = replace(edit, paths=tuple(path for path in edit.paths if path != one.path))
    # A patch may be called as an added file is.
    gone = {_path(one.file) for one in own.gone if isinstance(one, OverlayFile)}
    for path in (one.path for one in overlay.files if f"tree/{one.path}" in gone):
        text = without_file(CONFIG_FILE, text, path)
    return text
