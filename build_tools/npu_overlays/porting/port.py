"""Port: an overlay on another pin, step by step: what became of each part, what is accepted, and what is left.

Everything is found out anew from the folder each time: what was dropped or stated anew is no question any more. So a
port that was killed, or mended by hand, goes on where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npu_overlays.acquisition import acquire
from npu_overlays.choice import Choice
from npu_overlays.contracts.changed_reads import changed_reads
from npu_overlays.contracts.lockfile import load_lock, write_lock
from npu_overlays.derivation import Told, derive_lock
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.model import model_of
from npu_overlays.model.lookup import Upstream
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.project import Overlay
from npu_overlays.pin import clone_variable
from npu_overlays.porting.beginning import Begun
from npu_overlays.porting.classify import Classifier, names_of, still_held
from npu_overlays.porting.ending import ended
from npu_overlays.porting.folder import State, finish, read_state
from npu_overlays.porting.history import History
from npu_overlays.porting.landed import Landed
from npu_overlays.porting.revision import Names, revision_of
from npu_overlays.porting.rows import Blame, Row, rows, with_reads, with_users
from npu_overlays.progress import step
from npu_overlays.source import cache_root
from npu_overlays.source.histories import history
from npu_overlays.tree import SourceTree
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port as it stands.

    Args:
        old: the overlay that is ported.
        new: the one it becomes.
        version: of upstream, there.
        rows: what became of each part that is not decided yet.
        problems: what else keeps it from being locked; known where no row is open.
        base: upstream where the old overlay is pinned.
        now: upstream where the new one is.
        notes: what was found out on the way.
    """

    old: Overlay
    new: Overlay
    version: str
    rows: tuple[Row, ...]
    base: SourceTree
    now: SourceTree
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def open(self) -> list[Row]:
        """The parts that do not apply and are not decided."""
        return [row for row in self.rows if not row.verdict.applies and row.verdict.proposal != "relock"]

    @property
    def is_finished(self) -> bool:
        """Whether it is locked."""
        return not self.open and not self.problems

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "from": self.old.name,
            "to": self.new.name,
            "folder": str(self.new.folder),
            "version": self.version,
            "finished": self.is_finished,
            "notes": list(self.notes),
            "parts": [row.as_json() for row in self.rows],
            "problems": [{"where": one.where, "what": one.what, "fix": one.fix} for one in self.problems],
        }


def evaluate(folder: Path, choice: Choice, begun: Begun | None = None, before: Port | None = None) -> Port:
    """Return an unfinished port as it stands; where nothing is open, it is locked, and then finished.

    Args:
        folder: the new overlay's.
        choice: where upstream is to come from.
        begun: what is known of it if it has just begun.
        before: the port as it stood before something was decided; upstream is the same.

    Raises:
        OverlayError: there is none, or its overlay cannot be read.
    """
    port = examine(folder, read_state(folder), choice, before)
    port = replace(port, notes=(*(begun.notes if begun else ()), *port.notes))
    if port.open:
        return port
    choice, _ = _with_history(port.old, port.new, choice)
    return _locked(port, choice, begun.metadata if begun else None)


def examine(folder: Path, state: State, choice: Choice, before: Port | None = None) -> Port:
    """Return a port as it stands, of which nothing is written; raises `OverlayError` where it cannot be read."""
    new, old = load_overlay(folder), load_overlay(folder.parent / state.origin)
    choice, past = _with_history(old, new, choice)
    base, now = (before.base, before.now) if before else (_acquired(old, choice), _acquired(new, choice))
    port = Port(old=old, new=new, version=state.version, rows=before.rows if before else (), base=base, now=now)
    found, notes = _looked_at(port, past)
    return replace(port, rows=found, notes=notes)


def _acquired(overlay: Overlay, choice: Choice) -> SourceTree:
    clone = choice.clone(overlay.pin.project) if overlay.pin.commit else None
    return acquire(overlay, "auto" if clone else choice.mode_for(overlay), clone)


def _with_history(old: Overlay, new: Overlay, choice: Choice) -> tuple[Choice, History | None]:
    """Return a choice that takes commits from the history of both pins, and that; None where there is none."""
    if not (old.pin.commit and new.pin.commit):
        return choice, None
    project = new.pin.project
    wanted = [old.pin.commit, new.pin.commit]
    repository, _ = history(new.pin, wanted, clone=choice.clone(project), cache=cache_root(), progress=step)
    clones = {**choice.clones, clone_variable(project): repository}
    return replace(choice, mode=None, clones=clones), History(repository=repository)


def _looked_at(port: Port, past: History | None) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Return what became of each part now, and notes; a port that has rows already is looked at again."""
    content = load_content(port.new, port.version)
    lock, names = load_lock(port.old), Names(names_of(content.operations))
    base, now = (revision_of(tree, names) for tree in (port.base, port.now))
    landed = Landed()
    first, last = port.old.pin.commit, port.new.pin.commit
    if past:
        graph = past.graph(first, last)
        landed.note(commit for commit, _ in reversed(graph.values()))
    step(f"looking at what became of {plural(len(content.operations), 'operation')}")
    before = load_content(port.old, lock.metadata.version)
    notes = tuple(f"{port.new.name}: {note}" for note in ended(before, content, port.version))
    classifier = Classifier(content, still_held(lock.contracts, before.operations, content.operations), base)
    read = changed_reads(lock.reads, Upstream(model_of(port.new.pin, port.now)), content)
    found = tuple(with_users(with_reads(rows(content, classifier, now, landed), read)))
    if past is None:
        return found, notes
    blame = Blame(history=past, first=first, last=last)
    return tuple(blame.responsible(found, classifier, port.rows)), notes


def _locked(port: Port, choice: Choice, metadata: Told | None) -> Port:
    """Return a port of which nothing is open, with its lock written, or with what keeps it from being locked."""
    try:
        made = derive_lock(port.new, choice, metadata)
    except OverlayError as error:
        return replace(port, problems=error.problems)
    write_lock(port.new.folder, made.lock)
    finish(port.new.folder)
    return replace(port, notes=(*port.notes, *made.notices))
