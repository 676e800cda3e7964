"""Layer writer: a plan → the files of the layers, with their new contents."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from npu_overlays.authoring.refresh.patch_text import free_name, new_patch, patch_between, with_section
from npu_overlays.authoring.refresh.placement import LayerFile, LayerFiles
from npu_overlays.authoring.refresh.plan import AddedFileChange, EditChange, PatchChange, RefreshPlan
from npu_overlays.authoring.refresh.reasons import handed_on
from npu_overlays.authoring.writer.merge_module_text import OperationChange, blank, rewritten
from npu_overlays.authoring.writer.settings_text import with_changes, with_file, with_new, without_file
from npu_overlays.errors import MergeError, Problem, UsageError
from npu_overlays.merge.actions.wraps import private_name
from npu_overlays.merge.apply import apply_part
from npu_overlays.model import classes_of
from npu_overlays.model.code_blocks import renamed
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.mails import mails, with_mail
from npu_overlays.overlay.operations import Grounds, Operation, Reason
from npu_overlays.overlay.project import FileSettings, Layer, TextEdit
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.sources.tree import PatchedTree

Explain = Callable[[str, str], Grounds]


class LayerWriter:
    """Writes a plan into the files of layers, in memory.

    Args:
        subject: the overlay and its upstream.
        into: the layer that takes what is new.
        explain: returns the reason, bounds and acceptances of something new, given its action and target; of an added
            file, which holds its reason, only bounds and acceptances.
    """

    def __init__(self, subject: AppliedInput, into: Layer, explain: Explain) -> None:
        self._subject = subject
        self._layers = {layer.name: layer for layer in subject.content.overlay.chain}
        self._into = into
        self._explain = explain
        self._files = LayerFiles()

    def write(self, plan: RefreshPlan, patched: PatchedTree) -> tuple[LayerFile, ...]:
        """Return the files to write; `patched` is upstream with the overlay's patches alone."""
        self._operations(plan)
        moved = plan.moved_files()
        for file in plan.files:
            self._added(file, moved.get(file.wanted.path))
        # Taking out a mail changes the numbers of those behind it.
        for patch in sorted(plan.patches, key=lambda one: -one.known.mail if one.known else 0):
            if patch.known is None:
                names = {path.name for path in (self._into.folder / "patches").glob("*.patch")}
                names |= {path.removeprefix("patches/") for _, path in self._files.changed}
                diff = _patch_between(patched, patch)
                grounds = handed_on(self._explain("patch", patch.path), patch.instead)
                name = free_name(frozenset(names), patch.path)
                self._files.write(self._into, f"patches/{name}", new_patch(grounds, diff))
            else:
                self._known_patch(patch, patch.known)
        self._known_edits(plan.edits)
        for edit in plan.edits:
            if edit.known is None:
                self._new_edit(edit)
        return tuple(self._files.changed.values())

    def _layer(self, label: str) -> tuple[Layer, str]:
        """Return the layer and the path inside it of a file, from the name that messages use for it."""
        name, _, path = label.partition("/")
        return self._layers[name], path

    def _operations(self, plan: RefreshPlan) -> None:
        """Rewrite the merge modules whose operations change."""
        # By layer and path in it.
        changes: dict[tuple[str, str], list[OperationChange]] = {}
        for group in by_place(plan.operations):
            known = group[0].known
            new = [] if known else [self._explained(group[0])]
            if known:
                kept, new = shared(self._subject.content.operations, known, group)
                changes.setdefault((known.layer, self._layer(known.file)[1]), []).append(kept)
            for operation in new:
                holder = known.layer if known else self._layer_of(operation)
                change = OperationChange(known=None, wanted=operation)
                changes.setdefault((holder, f"tree/{operation.path}"), []).append(change)
        for (name, path), some in changes.items():
            layer = self._layers[name]
            content = self._files.read(layer, path) or blank(path)
            order = plan.orders.get(path.removeprefix("tree/"), [])
            self._files.write(layer, path, rewritten(layer.label(path), content, some, order))

    def _explained(self, change: OperationChange) -> Operation:
        grounds = self._explain(change.one.action, change.target)
        return dataclasses.replace(change.one, reason=grounds.reason, bounds=grounds.bounds, accept=grounds.accept)

    def _layer_of(self, new: Operation) -> str:
        """Return the name of the layer for something new: an original that left its wrapper stays beside that."""
        wrapped = [one for one in self._subject.content.operations if one.action == "wrapped" and one.path == new.path]
        if not wrapped:
            return self._into.name
        module = Module(new.path, self._subject.tree.read(new.path))
        classes = classes_of(module)
        for one in wrapped:
            if new.symbol in [private_name(classes, module, known) for known in chosen(module, one.symbol)]:
                return one.layer
        return self._into.name

    def _added(self, file: AddedFileChange, moved: OverlayFile | None) -> None:
        """Write an added file; `moved` is the one it was under another name, if any, whose layer keeps it."""
        known = file.known or moved
        layer = self._layers[known.layer] if known else self._into
        path = file.wanted.path
        self._files.write(layer, f"tree/{path}", file.wanted.content, executable=file.wanted.executable)
        if file.known is None:
            grounds = self._explain("file", path)
            earlier = _settings_of(layer, moved.path) if moved else None
            settings = earlier or FileSettings(path=path, bounds=grounds.bounds, accept=grounds.accept)
            settings = dataclasses.replace(settings, path=path)
            if settings.bounds or settings.accept:
                self._settings(layer, lambda name, text: with_file(name, text, settings))
        elif file.wanted.content is None and _settings_of(layer, path):
            self._settings(layer, lambda name, text: without_file(name, text, path))

    def _known_patch(self, patch: PatchChange, known: OverlayFile) -> None:
        layer, path = self._layer(known.holder)
        mailbox = self._files.read(layer, path) or known.content
        own = next(one.content for one in mails(mailbox) if one.number == known.mail)
        content = self._subject.content
        patches = content.patches[: content.patches.index(known)]  # those applied before this one
        part = dataclasses.replace(content, operations=(), edits=(), files=(), patches=patches)
        earlier = apply_part(part, self._subject.tree, absent=self._subject.absent)
        is_idle = earlier.after(patch.path) == patch.after
        diff = b"" if is_idle else _patch_between(earlier, patch)
        changed = with_section(dataclasses.replace(known, content=own), patch.path, diff)
        self._files.write(layer, path, with_mail(mailbox, known.mail, changed or b"") or None)

    def _new_edit(self, change: EditChange) -> None:
        grounds = self._explain("edit", change.path)
        edit = TextEdit(
            paths=(change.path,),
            find=change.find,
            replace=change.replace or "",
            count=1,
            why=_in_a_sentence(grounds.reason),
            bounds=grounds.bounds,
            accept=grounds.accept,
        )
        self._settings(self._into, lambda name, text: with_new(name, text, edit))

    def _known_edits(self, changes: Iterable[EditChange]) -> None:
        """Change substitutions in their places; of one for several files, those that differ get one of their own."""
        by_layer: dict[str, list[tuple[TextEdit, str, str, str | None]]] = {}
        for one in changes:
            if one.known:
                change = (one.known.edit, one.path, one.find, one.replace)
                by_layer.setdefault(one.known.layer, []).append(change)
        for layer, some in by_layer.items():
            self._settings(self._layers[layer], partial(with_changes, changes=some))

    def _settings(self, layer: Layer, change: Callable[[str, str], str]) -> None:
        name = layer.settings[0]
        content = self._files.read(layer, name) or b""
        self._files.write(layer, name, change(name, content.decode()).encode())


def _settings_of(layer: Layer, path: str) -> FileSettings | None:
    """Return a layer's settings of an added file, if it has any."""
    return next((one for one in layer.files if one.path == path), None)


def _patch_between(tree: PatchedTree, patch: PatchChange) -> bytes:
    return patch_between(tree, {patch.path: (patch.after, tree.is_executable(patch.path))})


def layer_named(subject: AppliedInput, name: str) -> Layer:
    """Return the layer that is to take what is new; raises `UsageError` for one the overlay is not made of."""
    chain = subject.content.overlay.chain
    found = next((layer for layer in chain if layer.name == (name or chain[-1].name)), None)
    if found is None:
        what = f"{subject.content.overlay.name} is not made of that layer"
        fix, options = f"name one of {', '.join(one.name for one in chain)}", (("--into", chain[-1].name),)
        raise UsageError(Problem(where=f"--into {name}", what=what, fix=fix, options=options))
    return found


def _in_a_sentence(reason: Reason) -> str:
    """Return a reason as one text, for a change that has a single field for it."""
    texts = [reason.why]
    for name, text in (("forwarded", reason.forwarded), ("can go when", reason.drop_when)):
        if text:
            texts.append(f"({name}: {text})")
    return " ".join(texts)


def by_place(changes: Iterable[OperationChange]) -> list[list[OperationChange]]:
    """Return changes by the statement that they change: those of one shared definition together."""
    groups: dict[object, list[OperationChange]] = {}
    for number, change in enumerate(changes):
        key = (change.known.layer, change.known.where) if change.known else number
        groups.setdefault(key, []).append(change)
    return list(groups.values())


def shared(
    operations: Sequence[Operation], known: Operation, group: Sequence[OperationChange]
) -> tuple[OperationChange, list[Operation]]:
    """Return the change of an operation's statement, and for targets that leave a shared one, their own operations.

    `operations` are all of the overlay's, and `group` the changes of those of that statement.
    """
    everywhere = [one for one in operations if (one.layer, one.where) == (known.layer, known.where)]
    wanted = [_called(one.wanted, known.shared) if one.wanted else None for one in group]
    texts = {(one.action, one.text, one.annotation, one.edits, one.imports) if one else None for one in wanted}
    alike = len(group) == len(everywhere) and len(texts) == 1
    # A relative import is another one in every target.
    imports = wanted[0].imports if wanted[0] else ()
    means_the_same = not any(one.statement.startswith("from .") for one in imports)
    if not known.shared or (alike and means_the_same):
        return OperationChange(known=known, wanted=wanted[0]), []
    if known.like:
        names = ", ".join(f"{one.known.path}:{one.known.symbol}" for one in group if one.known)
        what = f"changes some of the definitions like `{known.like.model}`, which have one text"
        fix = f"name in `but` those that get a text of their own, with the reason, and run `npu-overlays lock`: {names}"
        raise MergeError(Problem(where=known.where, what=what, fix=fix))
    gone = {(one.known.path, one.symbol) for one in group if one.known}
    stay = tuple(f"{one.path}:{one.symbol}" for one in everywhere if (one.path, one.symbol) not in gone)
    # In a file of its own, a definition has the name of its target.
    moved = [dataclasses.replace(_called(one, one.leaf), shared="") for one in wanted if one]
    return OperationChange(known=known, wanted=None, targets=stay), moved


def _called(one: Operation, name: str) -> Operation:
    """Return an operation whose definition has the name; unchanged for values, and where no name is given."""
    if not name or not one.text or one.kind == "attribute":
        return one
    return dataclasses.replace(one, text=renamed(one.text, name))
