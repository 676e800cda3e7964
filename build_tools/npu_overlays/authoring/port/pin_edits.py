"""Pin edits: decisions on a pin's own parts → the changed files of its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from npu_overlays.authoring.port.decisions import DecidedPart
from npu_overlays.authoring.port.retarget import Retarget
from npu_overlays.authoring.writer.merge_module_text import OperationChange, rewritten, top_names
from npu_overlays.authoring.writer.settings_text import with_changes, without_file
from npu_overlays.errors import OverlayError, Problem, UsageError
from npu_overlays.model.module import Module
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit
from npu_overlays.overlay.mails import with_mail
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import CONFIG_FILE, Layer, Overlay, TextEdit
from npu_overlays.sources.tree import SourceTree

_Place = tuple[str, str, str]


def pin_files(
    own: Sequence[DecidedPart], overlay: Overlay, now: SourceTree
) -> tuple[dict[str, bytes | None], list[Problem]]:
    """Return the changed files of a pin's folder, and the problems of parts that cannot be changed.

    Args:
        own: the decisions on the pin's own parts.
        overlay: the pin.
        now: upstream.

    Returns:
        The contents by path, in the order in which they are written, None for a file to delete; and the problems.
    """
    layer = overlay.chain[-1]
    files: dict[str, bytes | None] = {}
    problems: list[Problem] = []
    operations: dict[str, list[DecidedPart]] = {}
    mails: list[OverlayFile] = []
    for one in own:
        if isinstance(one.statement, Operation):
            operations.setdefault(one.statement.file, []).append(one)
        elif isinstance(one.statement, OverlayFile):
            mails.append(one.statement)
    for label, decided in operations.items():
        try:
            files[_path(label)] = _merge_module(layer, _path(label), decided, now)
        except OverlayError as error:
            problems += error.problems
    # The settings of an added file are deleted before the file: settings without their file are a mistake.
    settings = (layer.folder / CONFIG_FILE).read_text("utf-8")
    changed = _configuration(settings, own, overlay)
    if changed != settings:
        files[CONFIG_FILE] = changed.encode()
    # Taking out a mail renumbers those behind it.
    for file in sorted(mails, key=lambda one: -one.mail):
        path = _path(file.holder)
        mailbox = files.get(path) or (layer.folder / path).read_bytes()
        files[path] = with_mail(mailbox, file.mail, b"") or None
    return files, problems


def _configuration(text: str, own: Sequence[DecidedPart], overlay: Overlay) -> str:
    """Return a pin's configuration with changed substitutions, and without settings of dropped files."""
    gone: set[str] = set()
    changes: list[tuple[TextEdit, str, str, str | None]] = []
    # Dropped ones first.
    for one in sorted(own, key=lambda one: bool(one.lead)):
        sourced = one.statement
        if isinstance(sourced, OverlayFile):
            gone.add(_path(sourced.file))
        elif isinstance(sourced, SourcedEdit):
            edit = sourced.edit
            put_in = one.lead + edit.replace if one.lead else None
            changes.append((edit, sourced.path, one.lead + edit.find, put_in))
    text = with_changes(CONFIG_FILE, text, changes)
    for file in overlay.files:
        # A patch may have the name of an added file.
        if f"tree/{file.path}" in gone:
            text = without_file(CONFIG_FILE, text, file.path)
    return text


def _path(label: str) -> str:
    """Return the path in its layer of a file, from the name that messages use for it."""
    return label.partition("/")[2]


def _merge_module(layer: Layer, path: str, decided: Sequence[DecidedPart], now: SourceTree) -> bytes | None:
    """Return a file of a pin's ``tree/`` or ``shared/`` with operations taken out or renamed; None if none is left.

    An operation that moves to another file is only taken out; a shared one lists its targets in any file.

    Raises:
        OverlayError: it cannot be done without changing other statements of the file.
    """
    label, content = layer.label(path), (layer.folder / path).read_bytes()
    target = path.removeprefix("tree/") if path.startswith("tree/") else ""
    known = read_operations(label, content, layer=layer.name, target=target)
    moves: dict[_Place, Retarget | None] = {}
    for one in decided:
        if isinstance(one.statement, Operation):
            moves[_place(one.statement)] = one.retarget
    if formed := [one.statement for one in decided if isinstance(one.statement, Operation) and one.statement.like]:
        what, fix = "is a target that like(…) finds", "name it in `but` of that like(…), then --continue"
        raise UsageError(
            Problem(where=one.where, what=what, fix=fix, targets=(f"{one.path}:{one.symbol}",)) for one in formed
        )
    written = _written(decided) if target else _shared_targets(known, moves)
    arrived: set[tuple[str, str]] = set()
    new: list[OperationChange] = []
    for move in filter(None, moves.values()):
        if not _leaves(move) and (not target or move.wanted.path == target):
            arrived.add((move.wanted.path, move.wanted.symbol))
        if move.wanted.path == target and not move.is_rename:
            new.append(OperationChange(known=None, wanted=move.wanted))
    order = top_names(Module(target, now.read(target))) if new else []
    text = rewritten(label, content, [*written, *new], order)
    found = read_operations(label, text, layer=layer.name, target=target) if text is not None else ()
    kept = [_effect(one) for one in known if _place(one) not in moves]
    left = [_effect(one) for one in found if (one.path, one.symbol) not in arrived]
    if len(found) != len(kept) + len(arrived) or left != kept:
        what = "cannot be deleted automatically: other operations of its file would change with it"
        fix = "edit or delete it by hand, then --continue"
        raise UsageError(
            Problem(where=where, what=what, fix=fix, targets=(f"{there}:{symbol}",)) for where, there, symbol in moves
        )
    return text


def _written(decided: Sequence[DecidedPart]) -> list[OperationChange]:
    """Return the changes of the statements of a merge module; one for several operations on a line."""
    written: dict[str, OperationChange] = {}
    for one in decided:
        if isinstance(one.statement, Operation):
            move = one.retarget
            wanted = move.wanted if move and move.is_rename else None
            written.setdefault(one.statement.where, OperationChange(known=one.statement, wanted=wanted))
    return list(written.values())


def _shared_targets(known: Sequence[Operation], moves: Mapping[_Place, Retarget | None]) -> list[OperationChange]:
    """Return the shared definitions that change, with the targets they keep."""
    definitions: dict[str, list[Operation]] = {}
    for one in known:
        definitions.setdefault(one.where, []).append(one)
    written: list[OperationChange] = []
    for where in dict.fromkeys(place[0] for place in moves):
        targets: list[str] = []
        for one in definitions[where]:
            move = moves.get(_place(one))
            if move and not _leaves(move):
                targets.append(f"{move.wanted.path}:{move.wanted.symbol}")
            elif _place(one) not in moves:
                targets.append(f"{one.path}:{one.symbol}")
        written.append(OperationChange(known=definitions[where][0], wanted=None, targets=tuple(targets)))
    return written


def _leaves(move: Retarget) -> bool:
    """Return whether an operation leaves its shared definition, to be stated in a file of its own."""
    return bool(move.operation.shared) and move.is_other_code


def _place(one: Operation) -> _Place:
    return one.where, one.path, one.symbol


def _effect(one: Operation) -> Operation:
    """Return an operation without its line, a shared one also without text, which has the names of its targets."""
    return replace(one, where="", before="", text="" if one.shared else one.text)
