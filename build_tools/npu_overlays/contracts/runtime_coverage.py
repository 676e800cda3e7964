"""Runtime coverage: the operators that tests of a pin saw its operations call → the operations that no test saw.

An operation can apply and never do its work, because its guard asks for something that differs on this pin. Only a run
shows that, so the tests record what they saw, for each pin, and `check` requires it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w

from npu_overlays.contracts.overlay_code import called_operators
from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.tables import load_toml

FIRED_FILE = "fired.toml"
_HEADER = "# Written by tests: which operators each operation was seen to call on this pin. Do not edit.\n\n"


@dataclass(frozen=True, kw_only=True)
class RuntimeCoverage:
    """The content of ``fired.toml``."""

    pin: str  # what was pinned
    # The operators that each operation, ``path:symbol``, was seen to call.
    called: Mapping[str, Sequence[str]] = field(default_factory=dict)


def load_coverage(folder: Path) -> RuntimeCoverage:
    """Return what the tests of a pin recorded, if anything; raises `ConfigError` for a damaged file."""
    file = folder / FIRED_FILE
    if not file.is_file():
        return RuntimeCoverage(pin="")
    values = load_toml(file)
    pin, called = values.get("pin"), values.get("called")
    if not isinstance(pin, str) or not isinstance(called, dict) or not all(map(_is_listed, called.values())):
        raise ConfigError(Problem(where=str(file), what="is damaged", fix="delete it, and run the tests that write it"))
    return RuntimeCoverage(pin=pin, called=called)


def _is_listed(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def render_coverage(fired: RuntimeCoverage) -> str:
    """Return the text of the file; equal ones have equal texts."""
    called = {name: sorted(operators) for name, operators in sorted(fired.called.items())}
    return _HEADER + tomli_w.dumps({"pin": fired.pin, "called": called})


def uncovered_operations(content: Content, fired: RuntimeCoverage) -> Iterator[Problem]:
    """Yield a problem for each operation that names an operator and was not seen to call one at this pin.

    Args:
        content: the overlay.
        fired: what the tests of this pin recorded.
    """
    where = f"{content.overlay.folder / FIRED_FILE}"
    again = "run the tests that call it: they write the file"
    if fired.pin not in ("", content.overlay.pin.identity):
        yield Problem(where=where, what=f"was written for {fired.pin}, which is not the pin", fix=again)
        return
    naming = called_operators(content)
    seen = _seen(content, fired)
    for operation in content.operations:
        yield from _of(operation, naming.get(operation, frozenset()), seen.get(shown_by(operation), ()), again)
    for name in sorted(fired.called.keys() - {_name(operation) for operation in naming}):
        yield Problem(where=where, what=f"lists `{name}`, which names no operator", fix=again)


def _seen(content: Content, fired: RuntimeCoverage) -> dict[str, list[str]]:
    """Return the operators that operations were seen to call; one target of a form counts for all."""
    seen: dict[str, list[str]] = {}
    for operation in content.operations:
        seen.setdefault(shown_by(operation), []).extend(fired.called.get(_name(operation), ()))
    return seen


def shown_by(operation: Operation) -> str:
    """Return the common name of operations that one test covers."""
    return f"{operation.where} {operation.like.model}" if operation.like else _name(operation)


def _of(operation: Operation, named: frozenset[str], seen: Sequence[str], again: str) -> Iterator[Problem]:
    excused = operation.unproven
    if excused and (seen or not named):
        what = f"`unproven` is not needed: {'a test saw what it calls' if seen else 'it names no operator'}"
        yield Problem(where=operation.where, what=what, fix="take `unproven` out", targets=(_name(operation),))
    elif named and not named & set(seen) and not excused:
        what = f"no test saw it call {' or '.join(sorted(named))} on this pin ({FIRED_FILE})"
        fix = f'{again}; correct its guard if it no longer fires; or write unproven="why no test can show it"'
        yield Problem(where=operation.where, what=what, fix=fix, targets=(_name(operation),))


def _name(operation: Operation) -> str:
    return f"{operation.path}:{operation.symbol}"
