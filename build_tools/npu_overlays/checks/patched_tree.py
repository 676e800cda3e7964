"""Patched tree: applies an overlay, and runs every check on the result before it is shipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from npu_overlays.checks.attribution import Culprit, ProblemReport
from npu_overlays.checks.class_cells import report_class_cells
from npu_overlays.checks.collisions import collision_problems
from npu_overlays.checks.constructor_calls import report_refused_calls
from npu_overlays.checks.context import CheckContext, check_context
from npu_overlays.checks.enum_numbers import report_enum_numbers
from npu_overlays.checks.import_cycles import report_import_cycles
from npu_overlays.checks.lost_members import report_lost_members
from npu_overlays.checks.missing_names import report_lost_names, report_missing_names
from npu_overlays.checks.record_fields import report_record_fields
from npu_overlays.checks.shadowed_names import report_shadowed_names
from npu_overlays.checks.undefined_names import report_undefined_names
from npu_overlays.checks.unmasked_names import report_unmasked_names
from npu_overlays.errors import MergeError, by_cause
from npu_overlays.merge.apply import merge_overlay
from npu_overlays.merge.authorship import line_at
from npu_overlays.merge.results import Applied
from npu_overlays.model import Model
from npu_overlays.model.encodings import encoding_of
from npu_overlays.model.shipped_modules import EXTENSIONS
from npu_overlays.overlay.compiled import PURE, wheel_tag
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.parser.vocabulary import MARKERS_MODULE, TOOL, imports_tool
from npu_overlays.progress import step
from npu_overlays.sources.tree import SourceTree

_Check: TypeAlias = Callable[[CheckContext, ProblemReport], None]


def apply_overlay(
    content: Content, upstream: SourceTree, *, absent: frozenset[str] = frozenset(), model: Model | None = None
) -> Applied:
    """Apply an overlay to its pinned upstream, and check the result.

    Args:
        content: the overlay.
        upstream: its files at the pin.
        absent: paths the commit holds and this source is known to lack; operations on them are
            listed as not applied instead of failing.
        model: of upstream's files, if there is one already.

    Raises:
        MergeError: with everything that does not fit, or else with every mistake that a check finds.
    """
    applied = merge_overlay(content, upstream, absent=absent, model=model)
    check(content, applied)
    return applied


def check(content: Content, applied: Applied) -> None:
    """Check a patched tree; raises `MergeError` with every mistake of the whole tree that upstream's does not have."""
    step("checking the patched source")
    context, report = check_context(content, applied), ProblemReport()
    problems = collision_problems(context)
    for check_rule in _CHECKS.values():
        check_rule(context, report)
    problems += report.problems()
    MergeError.raise_for(by_cause(problems))


def _report_compiled(context: CheckContext, report: ProblemReport) -> None:
    if wheel_tag(context.tree.upstream)[0] == PURE:
        return
    for module in context.modules:
        name = context.name(module.path)
        taken = context.after.modules.paths.get(name, "")
        if module.before is not None and taken.endswith(EXTENSIONS):
            what = f"Python imports {taken} as `{name}`: a change in {module.path} has no effect"
            fix = "pin a file of the release that does not hold it compiled: `npu-overlays init` takes it by --archive"
            report.add(context.attribution.taker(module.path, ""), what, fix)


def _report_markers(context: CheckContext, report: ProblemReport) -> None:
    for module in context.modules:
        if MARKERS_MODULE.encode() in module.after or imports_tool(module.after):
            offset = max(module.after.find(TOOL.encode()), 0)
            line = line_at(module.after, offset)
            culprit = context.attribution.author(module.path, offset, line, [MARKERS_MODULE])
            report.add(culprit, f"the patched module imports {MARKERS_MODULE}", "leave markers to merge modules")


def _report_encodings(context: CheckContext, report: ProblemReport) -> None:
    for file in context.content.files:
        if not file.path.endswith(".py"):
            continue
        try:
            file.content.decode(encoding_of(file.content))
        except UnicodeDecodeError as error:
            what = f"is not {error.encoding} ({error.reason} at byte {error.start})"
            report.add(Culprit(file=file.file), what, "save it as UTF-8")
        except SyntaxError as error:
            report.add(Culprit(file=file.file), str(error), "save it as UTF-8")


# What must hold, and the function that reports where it does not.
_CHECKS: dict[str, _Check] = {
    "Python imports every changed module from its text, and not from a compiled form beside it": _report_compiled,
    "no patched module imports the markers or the tool": _report_markers,
    "every added module is in the encoding that it declares": _report_encodings,
    "Python's lowest version reads every patched module, and something binds each name in it": report_undefined_names,
    "what a patch takes away uncovers no other binding of the name": report_unmasked_names,
    "the overlay's text imports, reads and lists only what the shipped modules have": report_missing_names,
    "no other module needs a name or a module that is taken away": report_lost_names,
    "no other module needs a member that a class loses": report_lost_members,
    "classes can be made in every way in which the shipped modules make them": report_refused_calls,
    "a new name hides nothing that upstream's code gets by it so far": report_shadowed_names,
    "records take their positional arguments in upstream's order": report_record_fields,
    "Python can make every class with the metaclass that it has": report_class_cells,
    "members that `auto()` numbers keep their numbers": report_enum_numbers,
    "every module can be the first one that is imported": report_import_cycles,
}
