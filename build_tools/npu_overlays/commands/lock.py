"""`lock`: overlays → their locks, made from the pinned source; everything a build does is tried on the way."""

from __future__ import annotations

from dataclasses import dataclass

from npu_overlays.commands.command import Selection, flag
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import folded
from npu_overlays.commands.selection import select
from npu_overlays.contracts.lockfile import render_lock, write_lock
from npu_overlays.errors import ConfigError, Problem
from npu_overlays.interrupts import held
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.pipeline.lock_derivation import DerivedLock, derive_lock
from npu_overlays.pipeline.preparation import each, joined
from npu_summary.plurals import plural

SUMMARY = "write overlay.lock: what each operation depends on in the pinned upstream"
VERBOSE = "print every notice, and the traceback of an error"
DESCRIPTION = """\
Write overlay.lock: what each operation depends on in the pinned upstream, and
what a wheel adopts from upstream's metadata. Builds compare upstream with it.

Run it after you write an operation or change the pin, and review the change of
the lock like code. It shows what your operations depend on, what can conflict
with them, and, on another pin, what upstream changed under the operations of
its layers. `lock` prints this each time; builds and checks print only what is
not in the lock yet. Of notices with the same cause it prints one, with the
number of the others.

examples:
  npu-overlays lock verl@d62da49
  npu-overlays lock --all --check           for CI: is every lock up to date?
"""


@dataclass(frozen=True, kw_only=True)
class Options(Selection):
    """The overlays, and whether to write."""

    check: bool = flag("--check", "write nothing; fail if a lock would change")
    verbose: bool = False  # whether notices with the same cause are printed each


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    handle = _check if options.check else _write
    choice = options.choice
    _, errors = each(
        select(options), lambda overlay: handle(derive_lock(overlay, choice), console, whole=options.verbose)
    )
    if errors:
        raise joined(errors)
    return 0


def _write(derived: DerivedLock, console: Console, *, whole: bool) -> None:
    report(console, derived, changed=write(derived), whole=whole)


def write(derived: DerivedLock) -> bool:
    """Write a lock into the folder of its overlay, and return whether it changed; raises `OutputError`."""
    overlay = derived.content.overlay
    with held(f"{overlay.name} is locked"):
        return write_lock(overlay.folder, derived.lock)


def report(console: Console, derived: DerivedLock, *, changed: bool, whole: bool = False) -> None:
    """Print the notices of a lock that was written, and its state; `whole` prints notices of one cause each."""
    console.notices(derived.notices if whole else folded(derived.notices))
    console.line(_state(derived, "written" if changed else "up to date"))


def _check(derived: DerivedLock, console: Console, *, whole: bool) -> None:
    overlay = derived.content.overlay
    file = overlay.folder / LOCK_FILE
    if not file.is_file() or file.read_bytes() != render_lock(derived.lock).encode():
        console.notices(derived.notices if whole else folded(derived.notices))
        fix = f"run `npu-overlays lock {overlay.argument}`"
        raise ConfigError(Problem(where=str(file), what="is missing or out of date", fix=fix))
    console.line(_state(derived, "up to date"))  # its reviewer has read the notices


def _state(derived: DerivedLock, state: str) -> str:
    return f"{derived.content.overlay.name}: {state}, {plural(len(derived.lock.contracts), 'contract')}"
