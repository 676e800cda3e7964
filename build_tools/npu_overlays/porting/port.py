"""Port: an overlay on another pin, step by step: what became of each part, what is accepted, and what is left.

Everything is found out anew from the folder each time: what was dropped or stated anew is no question any more. So a
port that was killed, or mended by hand, goes on where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npu_overlays import source
from npu_overlays.acquisition import acquire, released_version
from npu_overlays.choice import Choice, clone_variable
from npu_overlays.derivation import derive_lock
from npu_overlays.errors import ConfigError, OverlayError, Problem, UsageError
from npu_overlays.lock.lockfile import load_lock, write_lock
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.project import Overlay, TextEdit
from npu_overlays.overlay.said import SourcedEdit
from npu_overlays.pin import Pin
from npu_overlays.porting.classify import Classifier, names_of
from npu_overlays.porting.folder import STATE_FILE, State, add_settings, begin, finish, place, read_state
from npu_overlays.porting.history import History
from npu_overlays.porting.landed import Landed
from npu_overlays.porting.restating import Move, restated
from npu_overlays.porting.revision import Names, revision_of
from npu_overlays.porting.rows import Blame, Row, rows, with_reads
from npu_overlays.porting.shipping import without_absent
from npu_overlays.porting.target import Target, find_target
from npu_overlays.porting.verdict import KINDS
from npu_overlays.progress import step
from npu_overlays.reads import Upstream, changed_reads
from npu_overlays.reproducible import write_atomically
from npu_overlays.source import cache_root
from npu_overlays.source.histories import history
from npu_overlays.tree import SourceTree


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


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What a person decides.

    Args:
        accept: kinds or names of which the proposals are accepted; ``all`` for all but what is absorbed.
        drop: why each of some parts is dropped, by name.
    """

    accept: tuple[str, ...] = ()
    drop: Mapping[str, str] | None = None

    def takes(self, row: Row) -> bool:
        """Return whether the proposal of a row is accepted."""
        kind = row.verdict.kind
        named = {kind, kind.replace(" ", "-"), row.name, row.name.rpartition(":")[2]}
        return bool(named & set(self.accept)) or ("all" in self.accept and kind != "absorbed")


def start(old: Overlay, to: str, choice: Choice) -> tuple[Overlay, tuple[str, ...]]:
    """Make the folder of a port and return the overlay in it, of which nothing is decided yet, and what to say of it.

    Raises:
        OverlayError: the target cannot be had, is the old pin, or its folder is there already.
    """
    load_lock(old)
    target = find_target(old.pin, to, choice.clone(old.pin.project))
    if target.pin.identity == old.pin.identity:
        what = f"{to} is what {old.name} is pinned to"
        raise UsageError(Problem(where="--to", what=what, fix="name another revision"))
    _check_absent(place(old, target.pin))
    tree = _tree(target.pin, target, choice)
    ported, notes = without_absent(replace(old, pin=target.pin), tree)
    state = State(origin=old.folder.name, to=to, version=released_version(tree))
    new = begin(old, ported, state)
    return new, tuple(f"{new.name}: {note}" for note in (*target.notes, *notes))


def _check_absent(folder: Path) -> None:
    if (folder / STATE_FILE).is_file():
        fix = f"npu-overlays port {folder.name} --continue, or --abort"
        raise UsageError(Problem(where=str(folder), what="a port to that is under way", fix=fix))
    if folder.exists():
        what = "there is an overlay for that already"
        raise UsageError(Problem(where=str(folder), what=what, fix="edit that, or name another revision"))


def _tree(pin: Pin, target: Target, choice: Choice) -> SourceTree:
    clone = (target.history or choice.clone(pin.project)) if pin.commit else None
    return source.acquire(pin, mode="auto" if clone else choice.mode or "auto", local=clone, progress=step)


def evaluate(folder: Path, choice: Choice, notes: tuple[str, ...] = ()) -> Port:
    """Return an unfinished port as it stands; where nothing is open, it is locked, and then finished.

    Raises:
        OverlayError: there is none, or its overlay cannot be read.
    """
    port = examine(folder, read_state(folder), choice, notes)
    return port if port.open else _locked(port, choice)


def examine(folder: Path, state: State, choice: Choice, notes: tuple[str, ...] = ()) -> Port:
    """Return a port as it stands, of which nothing is written; raises `OverlayError` where it cannot be read."""
    new, old = load_overlay(folder), load_overlay(folder.parent / state.origin)
    choice, past = _with_history(old, new, choice)
    base = _acquired(old, choice)
    now = _acquired(new, choice)
    found = _rows(old, new, (base, now), state, past)
    return Port(old=old, new=new, version=state.version, rows=tuple(found), base=base, now=now, notes=notes)


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


def _rows(
    old: Overlay, new: Overlay, trees: tuple[SourceTree, SourceTree], state: State, past: History | None
) -> list[Row]:
    content = load_content(new, state.version)
    lock, names = load_lock(old), Names(names_of(content.operations))
    base, now = (revision_of(tree, names) for tree in trees)
    landed = Landed()
    first, last = old.pin.commit, new.pin.commit
    if past:
        graph = past.graph(first, last)
        landed.note(commit for commit, _ in reversed(graph.values()))
    step(f"looking at what became of {len(content.operations)} operations")
    classifier = Classifier(content, lock.contracts, base)
    read = changed_reads(lock.reads or (), Upstream(new.pin, trees[1]), content)
    found = list(with_reads(rows(content, classifier, now, landed), read))
    if past is None:
        return found
    blame = Blame(history=past, first=first, last=last)
    return list(blame.responsible(found, classifier))


def _locked(port: Port, choice: Choice) -> Port:
    """Return a port of which nothing is open, with its lock written, or with what keeps it from being locked."""
    try:
        made = derive_lock(port.new, choice)
    except OverlayError as error:
        return replace(port, problems=error.problems)
    write_lock(port.new.folder, made.lock)
    finish(port.new.folder)
    return replace(port, notes=(*port.notes, *made.notices))


def decide(port: Port, decisions: Decisions) -> bool:
    """Write into the folder of a port what a person decided, and return whether that is anything.

    Raises:
        UsageError: with each name that is none of an open part's, and each proposal that cannot be carried out.
    """
    drops = dict(decisions.drop or {})
    _check_names(port, decisions, drops)
    dropped = {row.name: drops[name] for row in port.rows for name in _names(row) if name in drops}
    taken = [row for row in port.rows if row.name not in dropped and row.verdict.proposal and decisions.takes(row)]
    moves = [(row, _move(row)) for row in taken if row.verdict.to]
    longer = {id(row): row for row in taken if row.verdict.lead}
    if problems := [
        *_obstacles(port, moves),
        *_own(port, [*taken, *(one for one in port.rows if one.name in dropped)]),
    ]:
        raise UsageError(problems)
    dropped |= {row.name: _why(port, row) for row in taken if row.verdict.proposal == "drop"}
    dropped |= {row.name: f"Stated anew in this pin, where upstream has it now: {row.verdict.to}." for row, _ in moves}
    dropped |= {row.name: f"Stated anew in this pin: {row.verdict.evidence}." for row in longer.values()}
    for path, text in restated(move for _, move in moves).items():
        file = port.new.folder / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode())
    add_settings(port.new.folder, dropped, _kept_edits(port, dropped, longer))
    return bool(dropped)


def _names(row: Row) -> tuple[str, str]:
    return row.name, row.name.rpartition(":")[2]


def _move(row: Row) -> Move:
    path, _, symbol = row.verdict.to.partition(":")
    return Move(operation=row.said, path=path, symbol=symbol)  # type: ignore[arg-type]  # only operations move


def _why(port: Port, row: Row) -> str:
    commit = f" ({row.commit})" if row.commit else ""
    return f"On {port.new.name}: {row.verdict.kind}; {row.verdict.evidence}{commit}."


def _kept_edits(port: Port, dropped: Iterable[str], longer: Mapping[int, Row]) -> list[tuple[str, TextEdit]]:
    """Return the substitutions in a dropped file that still fit, or do with what stands above them.

    A file's are dropped together.
    """
    gone = set(dropped)
    kept: list[tuple[str, TextEdit]] = []
    for row in port.rows:
        if isinstance(row.said, SourcedEdit) and row.name in gone and (row.verdict.applies or id(row) in longer):
            edit, lead = row.said.edit, row.verdict.lead if id(row) in longer else ""
            kept.append((row.name, replace(edit, find=lead + edit.find, replace=lead + edit.replace)))
    return kept


def _check_names(port: Port, decisions: Decisions, drops: Mapping[str, str]) -> None:
    known = {"all", *KINDS, *(kind.replace(" ", "-") for kind in KINDS)}
    known |= {name for row in port.rows for name in _names(row)}
    wrong = [f"--accept {one}" for one in decisions.accept if one not in known]
    wrong += [f"--drop {name}" for name in drops if name not in known]
    if wrong:
        fix = "name one of the table, its symbol alone, or a kind; --accept also takes all"
        raise UsageError(Problem(where=one, what="names no part that is open here", fix=fix) for one in wrong)


def _obstacles(port: Port, moves: Iterable[tuple[Row, Move]]) -> Iterable[Problem]:
    for row, move in moves:
        there = port.new.folder / "tree" / move.path
        why = move.obstacle or (f"{there} is there already" if there.exists() else "")
        if why:
            fix = f"write it at {row.verdict.to} by hand, and --drop '{row.name}=…' or delete it where it stands"
            yield Problem(where=row.name, what=f"cannot be stated anew by itself: {why}", fix=fix)


def _own(port: Port, wanted: Iterable[Row]) -> Iterable[Problem]:
    """Yield a problem for what is the pin's own: only what lies below can be dropped."""
    for row in wanted:
        if row.layer == port.new.name:
            fix = f"edit or delete it at {row.where}, then --continue"
            yield Problem(where=row.name, what="is this pin's own, which nothing drops", fix=fix)


def find_unfinished(folder: Path) -> Path:
    """Return the folder of an unfinished port; raises `ConfigError` where it is none."""
    if not folder.is_dir():
        fix = "name the folder that `port --to` made"
        raise ConfigError(Problem(where=str(folder), what="there is no such folder", fix=fix))
    read_state(folder)
    return folder
