"""The gate: what a patched tree must satisfy before it may be shipped.

No file gets in another's way. Every patched module parses on the lowest supported Python and holds nothing of the
tool. What the overlay's text names is there, in its own module and in those it imports from; and what upstream's text
names is there if it was before, and still the same.
"""

from __future__ import annotations

from functools import cache

from npu_overlays.errors import MergeError, Problem, by_cause
from npu_overlays.merging.gate.blame import Culprit, Report
from npu_overlays.merging.gate.circles import report_circles
from npu_overlays.merging.gate.collisions import collisions
from npu_overlays.merging.gate.enums import report_renumbered
from npu_overlays.merging.gate.examined import Examined, PatchedModule
from npu_overlays.merging.gate.excused import excused
from npu_overlays.merging.gate.gains import report_gains
from npu_overlays.merging.gate.making import report_unmade
from npu_overlays.merging.gate.members import report_lost_members
from npu_overlays.merging.gate.missing import report_losses, report_missing
from npu_overlays.merging.gate.positions import report_positions
from npu_overlays.merging.gate.ruff import LOWEST_PYTHON
from npu_overlays.merging.gate.uncovered import report_uncovered
from npu_overlays.merging.gate.undefined import Undefined, undefined_names
from npu_overlays.model.encodings import encoding_of
from npu_overlays.model.shipped_modules import EXTENSIONS
from npu_overlays.overlay.compiled import PURE, wheel_tag
from npu_overlays.overlay.parser.vocabulary import MARKERS_MODULE, TOOL, imports_tool

_LOWEST = f"{LOWEST_PYTHON[2]}.{LOWEST_PYTHON[3:]}"
_BY_NAME = "import it by name; where upstream's module reads that name too, under another one"


def check(subject: Examined) -> None:
    """Check a patched tree; raises `MergeError` with every mistake of the whole tree that upstream's does not have."""
    report = Report()
    problems = _collision_problems(subject)
    _report_hidden(subject, report)
    _report_markers(subject, report)
    _report_encodings(subject, report)
    _report_undefined(subject, report)
    report_uncovered(subject, report)
    report_missing(subject, report)
    report_losses(subject, report)
    report_lost_members(subject, report)
    report_unmade(subject, report)
    report_gains(subject, report)
    report_positions(subject, report)
    report_renumbered(subject, report)
    report_circles(subject, report)
    problems += report.problems()
    if problems:
        raise MergeError(by_cause(problems))


def _collision_problems(subject: Examined) -> list[Problem]:
    """Return the files of the overlay that get in another's way, or in that of installing the wheel."""
    place, absent = cache(subject.pin.place), subject.before.absent
    labels = {file.path: file.file for file in subject.content.files}
    paths = [path for path in subject.tree.paths() if place(path)] + sorted(filter(place, absent))
    new = [path for path in paths if path not in subject.tree.upstream and path not in absent]
    sharing: dict[str, list[str]] = {}
    for path in paths:
        sharing.setdefault(place(path), []).append(path)
    found = [
        (path, f"would lie in the wheel where {other} lies", "give it another name")
        for path in new
        for other in sharing[place(path)]
        if other != path
    ]
    named = {place(path): path for path in new}
    reserved = [subject.content.overlay.summary_package]
    found += [(named[one.place], one.what, one.fix) for one in collisions(map(place, paths), named, reserved=reserved)]
    return [
        Problem(where=labels.get(path) or subject.blame.taker(path, "").where, what=what, fix=fix)
        for path, what, fix in found
    ]


def _report_hidden(subject: Examined, report: Report) -> None:
    """Report changed modules that upstream's wheel also holds compiled: Python imports only that form."""
    if wheel_tag(subject.tree.upstream)[0] == PURE:
        return
    for module in subject.modules:
        taken = subject.after.modules.paths.get(name := subject.name(module.path), "")
        if module.before is not None and taken.endswith(EXTENSIONS):
            what = f"Python imports {taken} as `{name}`: a change in {module.path} has no effect"
            fix = "pin a file of the release that does not hold it compiled: `npu-overlays init` takes it by --archive"
            report.add(subject.blame.taker(module.path, ""), what, fix)


def _report_markers(subject: Examined, report: Report) -> None:
    for module in subject.modules:
        if MARKERS_MODULE.encode() in module.after or imports_tool(module.after):
            offset = max(module.after.find(TOOL.encode()), 0)
            line = module.after.count(b"\n", 0, offset) + 1
            culprit = subject.blame.author(module.path, offset, line, [MARKERS_MODULE])
            report.add(culprit, f"the patched module imports {MARKERS_MODULE}", "leave markers to merge modules")


def _report_encodings(subject: Examined, report: Report) -> None:
    """Report added modules that are not in the encoding that they declare: nothing could be said of them."""
    for file in subject.content.files:
        text = file.content if file.path.endswith(".py") else b""
        try:
            text.decode(encoding_of(text))
        except UnicodeDecodeError as error:
            what = f"is not {error.encoding} ({error.reason} at byte {error.start})"
            report.add(Culprit(file=file.file), what, "save it as UTF-8")
        except SyntaxError as error:
            report.add(Culprit(file=file.file), str(error), "save it as UTF-8")


def _report_undefined(subject: Examined, report: Report) -> None:
    found = undefined_names(subject.modules, subject.parsed)
    upstreams = {id(one) for one in excused(subject, found)}
    for one in found:
        stars = _star_sources(subject, one.module) if one.kind == "star" else []
        brought = {subject.after.modules.star_brings(star, one.name) for star in stars}
        if True in brought or id(one) in upstreams:
            continue
        if subject.blame.wrote(one.module.path, one.offset):
            culprit = subject.blame.author(one.module.path, one.offset, one.line, [one.name])
            report.add(culprit, *_complaint(one, culprit, stars if None in brought else []))
        else:
            culprit = subject.blame.taker(one.module.path, one.name)
            what = f"`{one.name}` is taken away, but upstream's own text in {one.module.path} names it"
            report.add(culprit, what, "keep it, or change that text too")


def _star_sources(subject: Examined, module: PatchedModule) -> list[str]:
    return list(subject.after.modules.stars(subject.name(module.path)))


def _complaint(one: Undefined, culprit: Culprit, stars: list[str]) -> tuple[str, str]:
    """Return what is wrong with an undefined name in the overlay's text, and what to do."""
    place = "" if culprit.kind == "file" else f" in {one.module.path}"
    if one.kind == "syntax":
        return f"line {one.line} of the patched {one.module.path}: {one.name}", f"write what Python {_LOWEST} reads"
    if one.kind == "typing":
        fix = "import it under another name, or where it is used; an annotation can be quoted"
        return f"`{one.name}` is bound{place} under `if TYPE_CHECKING:` only, and read at run time", fix
    if one.kind == "global":
        return f"`{one.name}` is declared global, but nothing{place} binds it", "bind it at module level"
    if stars:
        return f"`{one.name}` can only come from `from {', '.join(stars)} import *`{place}, if at all", _BY_NAME
    fixes = {"file": "import or define it there", "patch": "import or define it in the patch"}
    fix = fixes.get(culprit.kind, "import it in the merge module, or add it")
    if one.name == "upstream":
        fix = "it is the original of a @wrapped; elsewhere there is none"
    return f"`{one.name}` is not defined{place}", fix
