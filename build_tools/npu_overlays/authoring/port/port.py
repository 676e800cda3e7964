"""Port: an overlay on another pin, step by step: the verdict on each part, the decisions, and the open parts.

Each step derives everything from the folder again, so a port that was killed or edited by hand continues from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from npu_overlays.authoring.port.causes import causes
from npu_overlays.authoring.port.classifier import Classifier, names_of, rewritten, still_held
from npu_overlays.authoring.port.copied_drops import CopiedDrops
from npu_overlays.authoring.port.endings import endings
from npu_overlays.authoring.port.folder import PortState, finish, read_state
from npu_overlays.authoring.port.followed_names import FollowedNames
from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.authoring.port.moved_names import MovedNames
from npu_overlays.authoring.port.parts import (
    CommitRange,
    PortedPart,
    parts,
    with_commits,
    with_reads,
    with_users,
)
from npu_overlays.authoring.port.retarget import with_free_targets
from npu_overlays.authoring.port.start import StartedPort
from npu_overlays.authoring.port.upstream_commits import LandedCommits
from npu_overlays.authoring.snapshots import DefinedNames, snapshot_of
from npu_overlays.contracts.changed_reads import changed_reads
from npu_overlays.contracts.form_targets import form_notices, form_targets
from npu_overlays.contracts.lockfile import Lock, load_lock, write_lock
from npu_overlays.errors import MergeError, OverlayError, Problem
from npu_overlays.model import Model, model_of
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import load_content, models_of, names_dropped
from npu_overlays.overlay.operations import FormTargets, Like
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.lock_derivation import ReadUpstream, derive_lock
from npu_overlays.pipeline.upstream import acquire
from npu_overlays.progress import step
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.histories import history
from npu_overlays.sources.pin import clone_variable
from npu_overlays.sources.tree import SourceTree
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port as it is after a step.

    Args:
        old: the overlay that is ported.
        new: the one it becomes.
        version: of upstream at the new pin.
        parts: of the new overlay, with their verdicts.
        problems: why it cannot be locked, known if no part is open.
        base: upstream at the old pin.
        upstream: at the new pin.
        forms: the targets of operations by form at the new pin.
        notes: for the user.
    """

    old: Overlay
    new: Overlay
    version: str
    parts: tuple[PortedPart, ...]
    base: SourceTree
    upstream: ReadUpstream
    forms: FormTargets = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def now(self) -> SourceTree:
        """Upstream's files at the new pin."""
        return self.upstream.tree

    @property
    def open(self) -> list[PortedPart]:
        """The parts that do not apply and are not decided."""
        return [part for part in self.parts if part.is_open]

    @property
    def is_finished(self) -> bool:
        """Whether it is locked."""
        return not self.open and not self.problems

    @property
    def fitting(self) -> str:
        """How many parts fit, need a look, or are open, in words."""
        unchanged = sum(part.verdict.kind == "fits" for part in self.parts)
        said = [f"{unchanged} of {plural(len(self.parts), 'part')} fit as they stand"]
        if looked_at := len(self.parts) - unchanged - len(self.open):
            said.append(f"{looked_at} may need a look")
        if self.open:
            said.append(f"{len(self.open)} are open" if len(self.open) > 1 else "1 is open")
        return ", ".join(said)

    def states_itself(self, part: PortedPart) -> bool:
        """Return whether the new pin states a part itself, and not one of its layers."""
        return part.layer == self.new.name

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "from": self.old.name,
            "to": self.new.name,
            "folder": str(self.new.folder),
            "version": self.version,
            "finished": self.is_finished,
            "notes": list(self.notes),
            "causes": [cause.as_json() for cause in causes(self.parts)],
            "parts": [part.as_json() for part in self.parts],
            "problems": [one.as_json() for one in self.problems],
        }

    def definitions(self, part: PortedPart) -> tuple[list[str], list[str]]:
        """Return the lines of upstream's old and new definition of a part; the new one may have another place."""
        path, _, symbol = part.name.partition(":")
        there, _, moved = (part.verdict.to or part.name).partition(":")
        return _lines(self.base, path, symbol), _lines(self.now, there, moved)


def _lines(tree: SourceTree, path: str, symbol: str) -> list[str]:
    """Return the lines of a definition, or of a file that is not Python; none if it does not exist."""
    if path not in tree:
        return []
    if not path.endswith(".py"):
        return tree.read(path).decode("utf-8", "replace").splitlines()
    module = Module(path, tree.read(path))
    lines: list[str] = []
    for one in chosen(module, symbol):
        lines += module.lines(one.first_line, one.node.end_lineno or 0).splitlines()
    return lines


def evaluate(folder: Path, choice: Choice, started: StartedPort | None = None, before: Port | None = None) -> Port:
    """Return an unfinished port; if nothing is open, it is locked, and then finished.

    Args:
        folder: the new overlay's.
        choice: where upstream comes from.
        started: the result of `start`, if the port was just started.
        before: the port before a decision; upstream is the same.

    Raises:
        OverlayError: there is none, or its overlay cannot be read.
    """
    port = examine(folder, read_state(folder), choice, before or started)
    if started:
        port = replace(port, notes=(*started.notes, *port.notes))
    if port.open:
        return port
    choice, _ = _with_history(port.old, port.new, choice)
    try:
        made = derive_lock(port.new, choice, port.upstream)
    except OverlayError as error:
        return replace(port, problems=error.problems)
    write_lock(port.new.folder, made.lock)
    finish(port.new.folder)
    return replace(port, notes=(*port.notes, *made.notices))


def examine(folder: Path, state: PortState, choice: Choice, known: Port | StartedPort | None = None) -> Port:
    """Return a port and write nothing; raises `OverlayError` if it cannot be read.

    Args:
        folder: the new overlay's.
        state: of the port.
        choice: where upstream comes from.
        known: the step before this one, which has read upstream.
    """
    new, old = load_overlay(folder), load_overlay(folder.parent / state.origin)
    choice, past = _with_history(old, new, choice)
    before = known if isinstance(known, Port) else None
    base = before.base if before else _acquired(old, choice)
    upstream = known.upstream if known else _read(new, choice)
    parts = before.parts if before else ()
    port = Port(old=old, new=new, version=state.version, parts=parts, base=base, upstream=upstream)
    return _judged(port, past, frozenset(state.kept))


def _read(overlay: Overlay, choice: Choice) -> ReadUpstream:
    tree = _acquired(overlay, choice)
    return ReadUpstream(tree=tree, model=model_of(overlay.pin, tree))


def _acquired(overlay: Overlay, choice: Choice) -> SourceTree:
    clone = choice.clone(overlay.pin.project) if overlay.pin.commit else None
    return acquire(overlay, "auto" if clone else choice.mode_for(overlay), clone)


def _with_history(old: Overlay, new: Overlay, choice: Choice) -> tuple[Choice, UpstreamHistory | None]:
    """Return a choice that takes commits from the history of both pins, and that; None if a pin has no commit."""
    if not (old.pin.commit and new.pin.commit):
        return choice, None
    project = new.pin.project
    wanted = [old.pin.commit, new.pin.commit]
    repository, _ = history(new.pin, wanted, clone=choice.clone(project), cache=cache_root(), progress=step)
    clones = {**choice.clones, clone_variable(project): repository}
    return replace(choice, mode=None, clones=clones), UpstreamHistory(repository=repository)


def _judged(port: Port, past: UpstreamHistory | None, kept: frozenset[str]) -> Port:
    """Return a port with the verdicts on its parts, and notes; parts with the same verdict keep their commits.

    Parts that stay unchanged by decision are judged without their contracts.
    """
    lock, model = load_lock(port.old), port.upstream.model
    forms, unfound = _forms(port, lock, model)
    content = load_content(port.new, port.version, forms)
    before = load_content(port.old, lock.metadata.version, lock.forms)
    names = DefinedNames(names_of(content.operations))
    base, now = snapshot_of(port.base, names, port.old.name), snapshot_of(port.now, names, port.new.name)
    first, last = port.old.pin.commit, port.new.pin.commit
    landed = LandedCommits()
    if past:
        landed.note(commit for commit, _ in reversed(past.graph(first, last).values()))
    step(f"comparing upstream's two versions for {plural(len(content.operations), 'operation')}")
    anew = rewritten(before.operations, content.operations)
    held = still_held(lock.contracts, anew)
    held = tuple(one for one in held if f"{one.path}:{one.symbol}" not in kept)
    classifier = Classifier(content, held, base)
    changed = changed_reads(lock.reads, model.symbols, content)
    names_there = MovedNames(reads=lock.reads, before=model_of(port.old.pin, port.base).symbols, now=model.symbols)
    judged = names_there.checked(with_free_targets(parts(content, classifier, now, landed)))
    names_followed = FollowedNames(
        classifier=classifier, now=now, symbols=model.symbols, reads=lock.reads, content=content
    )
    found: Iterator[PortedPart] = with_users(names_followed.judged(with_reads(judged, changed, anew)))
    if past:
        found = with_commits(found, classifier, CommitRange(history=past, first=first, last=last), port.parts)
    listed = tuple(found)
    versions = (lock.metadata.version, port.version)
    drops = CopiedDrops(before=before, after=content, versions=versions, forms=forms, decided=kept)
    left_out = drops.parts(now, classifier.fitter, listed)
    ended = endings(lock, content, port.version, now)
    said = [*unfound, *form_notices(lock.forms, forms, model), *ended.notes]
    notes = tuple(f"{port.new.name}: {note}" for note in said)
    return replace(port, parts=(*listed, *ended.open, *left_out), forms=forms, notes=notes)


def _forms(port: Port, lock: Lock, model: Model) -> tuple[FormTargets, tuple[str, ...]]:
    """Return the targets of operations by form, and notes.

    Where the new pin lacks a model, they are the old pin's targets, or the model alone if the old pin has none.
    """
    models, dropped = models_of(port.new, port.version), names_dropped(port.new, port.version)
    found: dict[Like, tuple[str, ...]] = {}
    notes: list[str] = []
    for like in dict.fromkeys(one.like for one in models if one.like):
        alike = [one for one in models if one.like == like]
        try:
            found |= form_targets(alike, port.now, model, dropped=dropped)
        except MergeError as error:
            found[like] = lock.forms.get(like, (like.model,))
            notes += (f"{one.what} ({one.where})" for one in error.problems)
    return found, tuple(notes)
