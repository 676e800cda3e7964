"""The report of an audit: the child's answer → text, JSON and the exit code."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from npu_summary.reports import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SCHEMA = 1
# What replaces symbols by design, by the module that does. Longest name first.
EXPECTED = {
    "torch_npu.contrib.transfer_to_npu": "transfer_to_npu redirects torch.cuda to the NPU",
    "torch_npu": "torch_npu installs its own operators and devices",
}


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """One name that is not what its file defines."""

    module: str  # the module it is in
    symbol: str  # its dotted name there
    how: str  # ``replaced``, ``wrapped``, ``added`` or ``deleted``
    by: dict[str, Any]  # who: ``module``, ``file``, ``line`` and ``name``; empty where that leaves no trace
    kind: str  # ``unexpected``; ``expected`` where torch_npu does it by design; ``own`` where a patched package does it
    reason: str  # why it is expected, else empty
    ours: dict[str, str] | None  # our operation on that symbol and its reason; None where we did not touch it


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One module that could not be imported."""

    module: str  # its name, or the script's file
    error: str  # the first error of the chain
    absent: str  # the package that is not installed, where that is why
    explicit: bool  # whether it was asked for by name
    required: str = ""  # the patched distribution that requires that package; empty where none does


@dataclass(frozen=True, kw_only=True)
class Audit(Report):
    """The outcome of one audit."""

    modules: int  # how many modules were compared
    replacements: tuple[Replacement, ...]  # what is not as defined
    failures: tuple[Failure, ...]  # what could not be imported
    problems: tuple[str, ...] = ()  # why nothing could be audited
    asked: int = 0  # how many modules were to be imported

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Audit:
        """Read the child's answer."""
        replacements = []
        for one in answer["replacements"]:
            fields = dict(one)
            kind, reason = _kind(one["by"]["module"], own=fields.pop("own"))
            replacements.append(Replacement(**fields, kind=kind, reason=reason))
        return cls(
            modules=answer["modules"],
            replacements=tuple(replacements),
            failures=tuple(Failure(**one) for one in answer["failures"]),
            problems=tuple(answer["problems"]),
            asked=answer["asked"],
        )

    @property
    def exit_code(self) -> int:
        """0 all is as defined or expected, 1 something is not, 2 could not tell.

        A module of the summary that needs what is neither installed nor required
        cannot run here, so leaving it out leaves nothing untold; but not where
        that is most of them, or where what is required is absent.
        """
        if any(one.kind == "unexpected" for one in self.replacements):
            return 1
        untold = any(one.explicit or one.required or not one.absent for one in self.failures)
        little = len(self.failures) * 2 > self.asked
        return 2 if untold or little or self.problems or not self.modules else 0

    def value(self) -> dict[str, Any]:
        """Return what `to_json` renders."""
        return {"schema": SCHEMA, "exit_code": self.exit_code, **asdict(self)}

    def lines(self) -> Iterator[str]:
        """Yield the lines for people."""
        titles = {
            "unexpected": "replaced at run time by others",
            "own": "replaced at run time by the patched packages themselves",
            "expected": "replaced at run time by design",
        }
        for kind, title in titles.items():
            found = [one for one in self.replacements if one.kind == kind]
            if found:
                yield f"{title}: {len(found)}"
            for one in found:
                yield from _replacement_lines(one)
        yield from _failure_lines(self.failures)
        for problem in self.problems:
            yield f"error: {problem}"
        if not (self.modules or self.failures or self.problems):
            yield "error: nothing that was imported belongs to a patched distribution"
        yield self._verdict()

    def _verdict(self) -> str:
        states = {0: "everything is what its file defines", 1: "NOT everything is what its file defines"}
        state = states.get(self.exit_code, "could not tell for all")
        audited = f"{self.modules} module{'' if self.modules == 1 else 's'} audited"
        return f"{audited}{f', {len(self.failures)} not' if self.failures else ''}: {state}"


def _failure_lines(failures: tuple[Failure, ...]) -> Iterator[str]:
    """Yield one line for each reason why modules could not be audited, and what to do about it."""
    modules: dict[Failure, list[str]] = {}
    for failure in failures:
        # A module that the user named is reported by its name.
        reason = failure
        if not failure.explicit:
            reason = replace(failure, module="", error="" if failure.absent else failure.error)
        modules.setdefault(reason, []).append(failure.module)
    for reason, names in modules.items():
        needs = f", which {reason.required} requires" if reason.required else ""
        why = f"{reason.absent} is not installed{needs}" if reason.absent and not reason.explicit else reason.error
        more = f" and {len(names) - 1} more" if names[1:] else ""
        yield f"{'error' if reason.explicit else 'not audited'}: {names[0]}{more}: {why}"
        if reason.required:
            yield "    fix: install what is required; `python -I -m npu_doctor` prints the command"


def _replacement_lines(one: Replacement) -> Iterator[str]:
    place = f"{one.by['file']}:{one.by['line']}" if one.by["file"] else "no file"
    who = f"{one.by['module'] or '?'} ({one.by['name']}, {place})" if one.how != "deleted" else "whom it does not say"
    yield f"  {one.module}.{one.symbol}: {one.how} by {who}"
    if one.reason:
        yield f"      expected: {one.reason}"
    if one.ours is not None:
        lost = " is lost" if one.how in ("replaced", "deleted") else ""
        yield f"      ours{lost}: {one.ours['operation']}: {one.ours['why']}"


def _kind(module: str, *, own: bool) -> tuple[str, str]:
    """Return the kind of a replacement by a module, and why it is expected."""
    for name, reason in EXPECTED.items():
        if module == name or module.startswith(f"{name}."):
            return "expected", reason
    return "own" if own else "unexpected", ""
