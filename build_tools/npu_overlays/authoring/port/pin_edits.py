"""Pin edits: what is decided of what a pin states itself → the changed files of its folder.

What a layer states serves other pins, so a pin drops it by name. What is in the pin's own folder is only for this pin,
and is changed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npu_overlays.authoring.port.parts import Statement
from npu_overlays.authoring.port.retarget import Retarget
from npu_overlays.authoring.writer.layer_settings import with_change, with_new, without_file
from npu_overlays.authoring.writer.merge_module_text import Written, rewritten
from npu_overlays.errors import OverlayError, Problem, UsageError
from npu_overlays.overlay.mails import with_mail
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import CONFIG_FILE, Layer, Overlay, TextEdit
from npu_overlays.overlay.said import OverlayFile, SourcedEdit
from npu_overlays.syntax.symbols import Module
from npu_overlays.tree import SourceTree

_Place = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class PinEdits:
    """What is decided of what a pin states itself.

    Args:
        dropped: what is taken out.
        moved: operations that get another target.
        lengthened: substitutions, with the text above each with which it occurs once.
    """

    dropped: Sequence[Statement] = ()
    moved: Sequence[Retarget] = ()
    lengthened: Sequence[tuple[SourcedEdit, str]] = ()

    def files(self, overlay: Overlay, now: SourceTree) -> tuple[dict[str, bytes | None], list[Problem]]:
        """Return the changed files of a pin's folder, and what keeps others from being changed.

        Args:
            overlay: the pin.
            now: upstream.

        Returns:
            The contents by path, in the order in which they are written, None for a file to delete; and the problems.
        """
        layer = overlay.chain[-1]
        files: dict[str, bytes | None] = {}
        problems: list[Problem] = []
        operations = [one for one in self.dropped if isinstance(one, Operation)]
        for label in dict.fromkeys(one.file for one in (*operations, *(move.operation for move in self.moved))):
            dropped = [one for one in operations if one.file == label]
            moved = [move for move in self.moved if move.operation.file == label]
            try:
                files[_path(label)] = _merge_module(layer, _path(label), dropped, moved, now)
            except OverlayError as error:
                problems += error.problems
        # The settings of an added file go before the file: settings for a file that does not exist are a mistake.
        settings = (layer.folder / CONFIG_FILE).read_text("utf-8")
        changed = self._configuration(settings, overlay)
        if changed != settings:
            files[CONFIG_FILE] = changed.encode()
        # Taking out a mail renumbers those behind it.
        added = [one for one in self.dropped if isinstance(one, OverlayFile)]
        for one in sorted(added, key=lambda one: -one.mail):
            path = _path(one.holder)
            mailbox = files.get(path) or (layer.folder / path).read_bytes()
            files[path] = with_mail(mailbox, one.mail, b"") or None
        return files, problems

    def _configuration(self, text: str, overlay: Overlay) -> str:
        """Return a pin's configuration with changed substitutions, and without settings of dropped files."""
        changes: list[tuple[SourcedEdit, str, str | None]] = []
        gone: set[str] = set()
        for one in self.dropped:
            if isinstance(one, SourcedEdit):
                changes.append((one, "", None))
            elif isinstance(one, OverlayFile):
                gone.add(_path(one.file))
        for sourced, lead in self.lengthened:
            changes.append((sourced, lead + sourced.edit.find, lead + sourced.edit.replace))
        # A substitution of several files is split: this is what is left of it.
        remaining: dict[int, TextEdit] = {}
        for sourced, find, replacement in changes:
            edit = remaining.get(id(sourced.edit), sourced.edit)
            text, split = with_change(CONFIG_FILE, text, edit, (sourced.path,), replacement, find=find)
            text = with_new(CONFIG_FILE, text, split) if split else text
            paths = tuple(path for path in edit.paths if path != sourced.path)
            remaining[id(sourced.edit)] = replace(edit, paths=paths)
        for file in overlay.files:
            # A patch may have the name of an added file.
            if f"tree/{file.path}" in gone:
                text = without_file(CONFIG_FILE, text, file.path)
        return text


def _path(label: str) -> str:
    """Return the path in its layer of a file, from the name that messages use for it."""
    return label.partition("/")[2]


def _merge_module(
    layer: Layer, path: str, dropped: Sequence[Operation], moved: Sequence[Retarget], now: SourceTree
) -> bytes | None:
    """Return a file of a pin's ``tree/`` or ``shared/`` with operations taken out or renamed; None if none is left.

    An operation that moves to another file is only taken out; a shared one names its targets, wherever they are.

    Raises:
        OverlayError: it cannot be done without changing other statements of the file.
    """
    label, content = layer.label(path), (layer.folder / path).read_bytes()
    target = path.removeprefix("tree/") if path.startswith("tree/") else ""
    known = read_operations(label, content, layer=layer.name, target=target)
    if target:
        # Of several operations on one line, one is for all.
        written = [Written(known=one, wanted=None) for one in {one.where: one for one in dropped}.values()]
        for move in moved:
            written.append(Written(known=move.operation, wanted=move.result if move.is_rename else None))
    else:
        written = _shared_targets(known, dropped, moved)
    new = [move.result for move in moved if move.path == target and not move.is_rename]
    order = [name.partition(".")[0] for name in Module(target, now.read(target)).definitions] if new else []
    text = rewritten(label, content, written, new, order)
    touched = [*dropped, *(move.operation for move in moved)]
    changed = frozenset(map(_place, touched))
    kept = [_effect(one) for one in known if _place(one) not in changed]
    arrived = {(move.path, move.symbol) for move in moved if not target or move.path == target}
    found = read_operations(label, text, layer=layer.name, target=target) if text is not None else ()
    left = [_effect(one) for one in found if (one.path, one.symbol) not in arrived]
    if len(found) != len(kept) + len(arrived) or left != kept:
        what = "cannot be taken out by itself: something else in its file would be changed with it"
        fix = "edit or delete it, then --continue"
        raise UsageError(
            Problem(where=one.where, what=what, fix=fix, targets=(f"{one.path}:{one.symbol}",)) for one in touched
        )
    return text


def _shared_targets(
    known: Sequence[Operation], dropped: Sequence[Operation], moved: Sequence[Retarget]
) -> list[Written]:
    """Return the shared definitions that change, with the targets they keep."""
    gone = frozenset(map(_place, dropped))
    new = {_place(move.operation): f"{move.path}:{move.symbol}" for move in moved}
    definitions: dict[str, list[Operation]] = {}
    for one in known:
        definitions.setdefault(one.where, []).append(one)
    written: list[Written] = []
    for where in dict.fromkeys(place[0] for place in (*gone, *new)):
        targets: list[str] = []
        for one in definitions[where]:
            if _place(one) not in gone:
                targets.append(new.get(_place(one), f"{one.path}:{one.symbol}"))
        written.append(Written(known=definitions[where][0], wanted=None, targets=tuple(targets)))
    return written


def _place(one: Operation) -> _Place:
    return one.where, one.path, one.symbol


def _effect(one: Operation) -> Operation:
    """Return an operation without its line; shared ones call each other by their targets' names, so without text."""
    return replace(one, where="", before="", text="" if one.shared else one.text)
