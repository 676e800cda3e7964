"""Decisions: a port and a person's decisions → the parts that are dropped, and those that get another target.

A layer serves other pins, so the pin drops a layer's part by name, and states it again where it moved. The pin's own
parts are changed in its own files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from npu_overlays.authoring.port.parts import PortedPart, Statement
from npu_overlays.authoring.port.port import Port
from npu_overlays.authoring.port.retarget import Retarget
from npu_overlays.authoring.port.verdicts import KINDS
from npu_overlays.errors import Problem, UsageError, listing
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.operations import Operation


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What a person decides.

    Args:
        accept: kinds or names whose proposals are accepted; ``all`` for every kind but absorbed.
        drop: the reason for each part to drop, by its name.
    """

    accept: tuple[str, ...] = ()
    drop: Mapping[str, str] | None = None

    def accepts(self, part: PortedPart) -> bool:
        """Return whether the proposal for a part is accepted."""
        kind = part.verdict.kind
        named = {kind, kind.replace(" ", "-"), part.name, part.symbol, part.cause}
        return not named.isdisjoint(self.accept) or ("all" in self.accept and kind != "absorbed")


@dataclass(frozen=True, kw_only=True)
class DecidedPart:
    """The decision on one part of a port: it is dropped, gets another target, or a longer find.

    Args:
        part: of the port.
        why: the reason to drop it; empty if it is kept.
        retarget: the new target of an operation; None for other parts.
    """

    part: PortedPart
    why: str = ""
    retarget: Retarget | None = None

    @property
    def statement(self) -> Statement:
        """The operation, substitution, patch or added file."""
        return self.part.statement

    @property
    def lead(self) -> str:
        """The text above a substitution's find that makes it unique; empty if the find stays as it is."""
        return "" if self.why else self.part.verdict.lead


def decided_parts(port: Port, decisions: Decisions) -> list[DecidedPart]:
    """Return the decision on each decided part; raises `UsageError` with each name that means no part, or several."""
    drops = dict(decisions.drop or {})
    _check_names(port, decisions, drops)
    dropped: dict[Statement, DecidedPart] = {}
    for name, why in drops.items():
        for part in _dropped_by(port, name):
            dropped[part.statement] = DecidedPart(part=part, why=why)
    found = list(dropped.values())
    for part in port.parts:
        verdict = part.verdict
        if part.statement in dropped or not verdict.proposal or not decisions.accepts(part):
            continue
        if verdict.proposal == "drop":
            commit = f" ({part.commit})" if part.commit else ""
            why = f"On {port.new.name}: {verdict.kind}; {verdict.evidence}{commit}."
            found.append(DecidedPart(part=part, why=why))
        elif verdict.wanted and isinstance(part.statement, Operation):
            found.append(DecidedPart(part=part, retarget=Retarget(operation=part.statement, wanted=verdict.wanted)))
        elif verdict.lead:
            found.append(DecidedPart(part=part))
    return found


def kept_parts(port: Port, decisions: Decisions) -> list[PortedPart]:
    """Return the parts that stay unchanged by decision."""
    kept = [part for part in port.parts if part.verdict.proposal == "keep" and decisions.accepts(part)]
    return [part for part in kept if part.name not in (decisions.drop or {})]


def _dropped_by(port: Port, name: str) -> list[PortedPart]:
    """Return the parts that a name drops.

    A cause, or a symbol without its path, means the open parts. A whole name means the parts of that name, without the
    pin's own that apply: such a part replaces a layer's part, which is meant. If only such parts have the name, they
    are meant.
    """
    listed = [_underlying(port, part) for part in port.parts if part.name == name]
    if not listed:
        named = [part for part in port.parts if part.cause == name] or _of_symbol(port, name)
        return [part for part in named if not part.verdict.applies]
    meant = [part for part in listed if not (port.states_itself(part) and part.verdict.applies)]
    return meant or listed


def _of_symbol(port: Port, symbol: str) -> list[PortedPart]:
    """Return the parts of a symbol, in any file."""
    return [_underlying(port, part) for part in port.parts if part.symbol == symbol]


def _underlying(port: Port, part: PortedPart) -> PortedPart:
    """Return the layer's operation that an applying operation of the pin replaces; other parts unchanged."""
    own = part.statement
    if port.states_itself(part) and part.verdict.applies and isinstance(own, Operation):
        for one in load_content(port.new, port.version, port.forms).operations:
            if (one.path, one.symbol) == (own.path, own.symbol) and one.layer != port.new.name:
                return replace(part, statement=one, verdict=replace(part.verdict, applies=False))
    return part


def _check_names(port: Port, decisions: Decisions, drops: Mapping[str, str]) -> None:
    known = {"all", *KINDS, *(kind.replace(" ", "-") for kind in KINDS)}
    for part in port.parts:
        known |= {part.name, part.symbol, part.cause}
    options = [f"--accept {one}" for one in decisions.accept if one not in known]
    options += [f"--drop {name}" for name in drops if name not in known]
    fix = "name a cause or a part that `port --continue` prints, a symbol alone, or a kind; --accept also takes all"
    problems = [Problem(where=option, what="names no part that is left to decide", fix=fix) for option in options]
    problems += _ambiguous_names(port, decisions, filter(known.__contains__, drops))
    if problems:
        raise UsageError(problems)


def _ambiguous_names(port: Port, decisions: Decisions, drops: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each symbol without path that several parts have, or, for a drop, no open part."""
    whole = {name for part in port.parts for name in (part.name, part.cause)}
    meant: dict[str, list[PortedPart]] = {}
    for name in decisions.accept:
        meant[f"--accept {name}"] = [part for part in _of_symbol(port, name) if part.verdict.proposal]
    unapplied = [name for name in drops if name not in whole]
    for name in unapplied:
        meant[f"--drop {name}"] = _dropped_by(port, name)
    for option, parts in meant.items():
        named = sorted({part.name for part in parts})
        if len(named) > 1 and option.partition(" ")[2] not in whole:
            what, fix = f"names several parts: {listing(named)}", "name each with its file"
            yield Problem(where=option, what=what, fix=fix)
    for name in unapplied:
        if not meant[f"--drop {name}"]:
            fitting = sorted({part.name for part in _of_symbol(port, name)})
            what = f"names only parts that still apply: {listing(fitting)}"
            yield Problem(where=f"--drop {name}", what=what, fix="name the part with its file to drop it all the same")
