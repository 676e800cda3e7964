"""`port`: an overlay and another commit or release of its upstream → the overlay for it, and the open parts."""

from __future__ import annotations

import argparse
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path

from npu_overlays.authoring.port.carry_out import decide
from npu_overlays.authoring.port.causes import Cause, causes
from npu_overlays.authoring.port.decisions import Decisions
from npu_overlays.authoring.port.folder import abort, origin_of, read_state
from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.port.port import Port, examine
from npu_overlays.authoring.port.port_page import port_page
from npu_overlays.authoring.port.start import start
from npu_overlays.authoring.port.verdicts import KINDS, MEANINGS
from npu_overlays.commands.command import (
    OneOverlay,
    flag,
    json_option,
    list_option,
    path_option,
    text_option,
)
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root, find_named
from npu_overlays.errors import MergeError, Problem, UsageError
from npu_overlays.files import write_atomically
from npu_overlays.overlay.inputs import PORT_FILE
from npu_overlays.paths import at_home
from npu_overlays.progress import about
from npu_summary.plurals import plural

# The selector of one of several definitions is in brackets, and may contain a `=`.
_DROPPED = re.compile(r"([^=[]*(?:\[.*?\])?)=(.*)", re.DOTALL)
SUMMARY = "make an overlay for another commit or release, and report on each of its parts"
_INTRODUCTION = """\
Make an overlay for another commit or release: its folder, pin, archive and
sha256, and what upstream did to the parts of the old overlay: what changed, was
renamed or moved, is gone, or is done by upstream itself now. The report names
each cause once, with the commit that did it, its parts, and the proposal for
them: the operations in full, and what they leave open.

No proposal is carried out until you accept it. --accept takes a cause, a kind
or a part; `all` is every proposal except those of kind absorbed, because
upstream may have merged a change without its NPU part. The rest is yours: write
it under tree/ of the new folder, or --drop it with a reason, and --continue.
Layers are not touched: the new pin drops, with a reason, what no longer
applies, and holds what moved. What the old pin itself holds is copied to the
new folder, and changed or removed there.

examples:
  npu-overlays port verl@d62da49 --to v0.7.0
  npu-overlays port transformers@91393fe --to 4.57.6 --accept all
  npu-overlays port verl@f9c855f --continue --accept renamed --accept already-gone
  npu-overlays port transformers@5.24.0 --continue --accept past_key_values-is-cache-now
  npu-overlays port verl@f9c855f --continue --drop 'vLLMRollout.__init__=Upstream has none.'
  npu-overlays port verl@f9c855f --continue --html port.html
  npu-overlays port verl@f9c855f --show vLLMRollout.__init__
  npu-overlays port verl@f9c855f --abort

kinds:
"""
_EPILOG = """
exit codes: 0 it is finished and locked; 5 parts are left to decide or to correct
"""
DESCRIPTION = _INTRODUCTION + "".join(f"  {kind:<18} {MEANINGS[kind]}\n" for kind in KINDS) + _EPILOG
_WIDTH = 100
# The most commits of a cause.
_SHOWN = 3
# Of a line of either side.
_COLUMN = 76


def _dropped(text: str) -> tuple[str, str]:
    found = _DROPPED.fullmatch(text)
    if found is None or not found[1].strip() or not found[2].strip():
        msg = f"`{text}` is not NAME=WHY"
        raise argparse.ArgumentTypeError(msg)
    return found[1].strip(), found[2].strip()


@dataclass(frozen=True, kw_only=True)
class Options(OneOverlay):
    """The overlay, and the step to take."""

    to: str = text_option(
        "--to", "REV", "a tag, branch, commit or version of upstream to port it to", alternative="required"
    )
    going_on: bool = flag("--continue", "continue the port in OVERLAY", alternative="required")
    show: str = text_option(
        "--show", "NAME", "print upstream's old and new definition side by side", alternative="required"
    )
    abort: bool = flag("--abort", "remove OVERLAY, whose port is not finished", alternative="required")
    accept: list[str] = list_option("--accept", "NAME", "carry out what is proposed for a cause, a kind or a part")
    drop: list[tuple[str, str]] = list_option(
        "--drop", "NAME=WHY", "leave out one part, or all parts of a cause, and say why", type=_dropped
    )
    html: Path | None = path_option("--html", "FILE", "also write a page with old and new side by side")
    json: bool = json_option()


def _decisions(options: Options) -> Decisions:
    """Return the decisions; raises `UsageError` if options do not go together."""
    if (options.abort or options.show) and options.html:
        what, more = "writes the page of a port, and there is none with --abort or --show", (("--continue", ""),)
        raise UsageError(Problem(where="--html", what=what, fix="use it with --to or --continue", options=more))
    if (options.abort or options.show) and (options.accept or options.drop):
        what = "decide something, and nothing is decided with --abort or --show"
        fix, more = "use them with --to or --continue", (("--continue", ""),)
        raise UsageError(Problem(where="--accept, --drop", what=what, fix=fix, options=more))
    return Decisions(accept=tuple(options.accept), drop=dict(options.drop))


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    decisions = _decisions(options)
    if options.abort:
        folder = _unfinished(options)
        abort(folder)
        console.line(f"{folder.name}: removed")
        return 0
    with about(options.name):
        if options.show:
            folder = find_named(options.root, options.name).folder
            state = origin_of(folder)
            if not (folder / PORT_FILE).is_file():
                console.notice(f"{folder.name} is finished, so it is compared with {state.origin}, the next older pin")
            return _show(examine(folder, state, options.choice), options.show, console)
        started = start(find_named(options.root, options.name), options.to, options.choice) if options.to else None
        folder = started.overlay.folder if started else _unfinished(options)
        port = decide(folder, options.choice, decisions, started)
    if options.html:
        write_atomically(options.html, port_page(port).encode())
    if options.json:
        console.json(port.as_json())
    else:
        _report(console, port)
    return 0 if port.is_finished else MergeError.exit_code


def _unfinished(options: Options) -> Path:
    beside = at_home(options.name)
    folder = beside.absolute() if beside.is_dir() else checked_root(options.root) / options.name
    read_state(folder)
    return folder


def _report(console: Console, port: Port) -> None:
    for note in port.notes:
        console.notices(_wrapped(note, "", "    "))
    _say(console, f"{port.old.name} → {port.new.name} (upstream {port.version}), in {port.new.folder}")
    console.line(port.fitting)
    found = causes(port.parts)
    for heading, together in groupby(found, key=_heading):
        console.line("")
        console.line(heading, style="bold")
        for cause in together:
            console.line("")
            for line in _lines(cause, port):
                console.line(line)
    console.line("")
    if port.is_finished:
        if changed := [part.symbol for part in port.parts if part.verdict.kind == "body changed"]:
            others = ", and each other part above" if len(changed) > 1 else ""
            name = shlex.quote(changed[0])
            console.line(f"compare old and new: npu-overlays port {port.new.argument} --show {name}{others}")
        console.line(f"finished, and locked: npu-overlays check {port.new.argument}", style="green")
        return
    console.problems(port.problems)
    undecided = [cause for cause in found if cause.is_open]
    proposed = sum(bool(cause.proposal) for cause in undecided)
    if undecided:
        count = f"{plural(len(port.open), 'part')} open, for {plural(len(undecided), 'cause')}"
        console.line(f"{count}: {proposed} with a proposal, {len(undecided) - proposed} for you")
    else:
        _say(console, f"{plural(len(port.problems), 'problem')} left, in {port.new.folder}")
    if left := len(undecided) - proposed:
        _say(console, _how_to_decide(left, port))
    console.line(f"next: npu-overlays port {port.new.argument} --continue{_accepting(port)}")


def _heading(cause: Cause) -> str:
    if not cause.is_open:
        return "Nothing to decide, but see whether these parts are still right:"
    return "Proposed:" if cause.proposal else "For you to decide:"


def _how_to_decide(left: int, port: Port) -> str:
    """Return the step before the next one, for a number of causes without a proposal."""
    task, tree = f"decide {plural(left, 'cause')}", port.new.folder / "tree"
    if all(port.states_itself(part) for part in port.open if not part.verdict.proposal):
        return f"{task}: edit or delete the parts, or --drop them in the next command"
    own = "edit or delete those at a place in the new folder"
    return f"{task}: --drop the parts in the next command, or {own}; what replaces them goes under {tree}"


def _lines(cause: Cause, port: Port) -> Iterator[str]:
    """Yield the lines of the report on a cause, none wider than `_WIDTH` except for long names."""
    first, *more = cause.said.splitlines()
    yield from _wrapped(first, "", "    ")
    for line in more:
        yield from _wrapped(line, "  ", "    ")
    for commit in cause.commits[:_SHOWN]:
        pull = f" #{commit.pull}" if commit.pull and f"#{commit.pull})" not in commit.subject else ""
        yield from _wrapped(f"by {commit}{pull}", "  ", "    ")
    if cause.is_open:
        if cause.proposal:
            yield from _wrapped(cause.decision, "  ", "    ")
        yield f"  {cause.option}"
    for text in cause.unknown:
        yield from _wrapped(f"to look at: {text}", "  ", "    ")
    for part in cause.parts:
        yield from _wrapped(f"{part.action} {part.name}", "    ", "      ")
        if place := _place(part, port):
            yield from _wrapped(f"at {place}", "      ", "        ")
    for text in cause.operations:
        yield ""
        for line in text.splitlines():
            deeper = " " * (len(line) - len(line.lstrip()) + 8)
            yield from _wrapped(line, "    | ", f"    | {deeper}") or ["    |"]


def _place(part: PortedPart, port: Port) -> str:
    """Return where a part stands that a person may change or has to decide; empty for others."""
    where = part.where.partition(": ")[0]
    if part.is_open and port.states_itself(part):
        return f"{where}: edit or delete it"
    return where if part.is_open and not part.verdict.proposal else ""


def _say(console: Console, text: str) -> None:
    for line in _wrapped(text, "", "    "):
        console.line(line)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def _accepting(port: Port) -> str:
    """Return the option that accepts the next proposals; absorbed parts come last, by the name of their kind."""
    proposed = {part.verdict.kind for part in port.open if part.verdict.proposal}
    return "" if not proposed else f" --accept {'absorbed' if proposed == {'absorbed'} else 'all'}"


def _show(port: Port, name: str, console: Console) -> int:
    named = [part for part in port.parts if name in (part.name, part.name.partition(":")[2])]
    if not named:
        fix = "name a part that `port --continue` prints"
        raise UsageError(Problem(where=f"--show {name}", what="names no part of this port", fix=fix))
    console.line(f"{port.old.name} | {port.new.name}")
    for part in named:
        console.line(f"{part.name}: {part.verdict.kind}", style="bold")
        for left, right in zip_longest(*port.definitions(part), fillvalue=""):
            mark = " " if left == right else "|"
            console.line(f"{left[:_COLUMN]:<{_COLUMN}} {mark} {right[:_COLUMN]}".rstrip())
    return 0
