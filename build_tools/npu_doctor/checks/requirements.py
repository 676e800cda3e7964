"""What installed distributions require: whether it is there, and of a version that will do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from npu_doctor import files, versions
from npu_doctor.checks.published import TORCH, fix_of
from npu_doctor.context import Context
from npu_doctor.distributions import InstalledDistribution
from npu_doctor.gates import find_gates
from npu_doctor.model import Level, Row
from npu_summary.verify.companions import suffix_of

_INFERENCE = ("vllm", "sglang")
_FEW_FILES = 100
# What is expected of code, and why it does something else for our version: compared with the release, or taken apart.
_COMPARED = ("a comparison without the label of the patched wheel, as pip's", "the label decides the result there")
_PARTED = (
    "a version without the label of the patched wheel before it is taken apart",
    "the label has parts that are more, and no numbers: an error is raised there",
)

_LONGEST = 2000
_OF_AN_EXTRA = re.compile(r";(?!.*\bor\b).*\bextra\s*==\s*[\"'][A-Za-z0-9]")
_BEFORE = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*")


def development_pin(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend requires a torch_npu that the index does not have."""
    distribution = context.packages.get("vllm-ascend")
    texts = distribution.requires if distribution else ()
    for text in texts:
        wanted = parse(text)
        if wanted is None or canonicalize_name(wanted.name) != "torch-npu" or ".dev" not in range_of(text):
            continue
        found = context.version("torch_npu")
        asked = range_of(text)
        answer = versions.allows(asked, found) if found else False
        base = asked.lstrip("=~> ").partition(".dev")[0]
        level: Level = "matched" if answer else "compatible" if versions.same(base, found) else "broken"
        yield context.judge(3, "torch_npu for vllm-ascend", level, found or "not installed", asked)


def required(context: Context) -> Iterator[Row]:
    """Yield what patched distributions require and nobody installed, as after ``--no-deps``, and what installs it."""
    absent: dict[str, dict[str, Requirement]] = {}
    lacking: dict[str, InstalledDistribution] = {}
    for distribution in context.packages.by_name.values():
        summary = f"{distribution.root}/{distribution.name.replace('-', '_')}_summary"
        if not files.is_file(f"{summary}/changes.json"):
            continue
        for text, one in _absent(context, distribution):
            absent.setdefault(canonicalize_name(one.name), {})[text] = one
            lacking[distribution.name] = distribution
    if absent:
        # Ours, the companions and those of the same suffix, may be on no index.
        suffixes = tuple(f"-{name.rpartition('-')[2]}" for name in lacking)
        ours = any("+" in "".join(texts) or name.endswith(suffixes) for name, texts in absent.items())
        yield Row(
            component=f"requirements of {' and '.join(lacking)}",
            level="broken",
            found=f"not installed: {', '.join(absent)}",
            expected="all installed",
            why="what needs them cannot be imported; --no-deps leaves them out",
            fix=" ".join(["python -m pip install", *context.pip_options(ours=ours), *map(_joined, absent.values())]),
            see=tuple(one.info for one in lacking.values()),
        )


def _absent(context: Context, distribution: InstalledDistribution) -> Iterator[tuple[str, Requirement]]:
    """Yield the requirements of a distribution that are not installed, as written but for their conditions."""
    for text in distribution.requires:
        one = _requirement_here(context, text)
        if one and not context.packages.get(one.name):
            yield text.partition(";")[0].replace(" ", ""), one


def _joined(asked: Mapping[str, Requirement]) -> str:
    """Return requirements of one name as one word of a command; one that names its source says all."""
    first = next((text for text, one in asked.items() if one.url), next(iter(asked)))
    if len(asked) == 1 or asked[first].url:
        return shlex.quote(first)
    extras = ",".join(sorted(set[str]().union(*(one.extras for one in asked.values()))))
    ranges = ",".join(filter(None, map(range_of, asked)))
    clauses = ",".join(dict.fromkeys(ranges.split(",")))
    return shlex.quote(f"{asked[first].name}{f'[{extras}]' if extras else ''}{clauses}")


def _requirement_here(context: Context, text: str) -> Requirement | None:
    """Return a requirement that applies to this machine; None for any other text."""
    wanted = None if of_an_extra(text) else parse(text)  # to parse a thousand of them takes half a second
    here = {"python": context.system.python, "machine": context.system.machine}
    return wanted if wanted and applies(wanted, **here) else None


def requirements(context: Context) -> Iterator[Row]:
    """Yield each requirement between the packages of a stack that does not hold."""
    names = {canonicalize_name(name): name for name in context.settings["distributions"].values()}
    for distribution in context.packages.by_name.values():
        if distribution.name in names or distribution.name.endswith("-npu"):
            yield from _unmet_rows(context, distribution, set(names))


def _unmet_rows(context: Context, distribution: InstalledDistribution, names: set[str]) -> Iterator[Row]:
    for text in dict.fromkeys(distribution.requires):
        wanted = _requirement_here(context, text)
        name = canonicalize_name(wanted.name) if wanted else ""
        if wanted is None or name not in names:
            continue
        specifier = range_of(text)
        if name == "torch-npu" and ".dev" in specifier:
            continue  # has a row of its own
        found = context.packages.version(wanted.name)
        if not found or not specifier or versions.allows(specifier, found) is not False:
            continue
        # torch has to be the version that torch_npu needs, even if an engine requires another one.
        torch = name in TORCH and distribution.name in _INFERENCE
        level: Level = "compatible" if torch else "broken"
        label = f"{wanted.name} for {distribution.name}"
        asked = f"{specifier} ({distribution.name} {distribution.version})"
        if torch:
            yield context.judge(2, label, level, found, asked)
        else:
            fix = f"{fix_of(context, name, specifier)}, or take both from one stack"
            why = f"{distribution.name} {distribution.version} requires it"
            see = (f"{distribution.info}",)
            yield Row(component=label, level=level, found=found, expected=asked, why=why, fix=fix, see=see)


def bounds(context: Context) -> Iterator[Row]:
    """Yield where others compare a patched distribution's version with its release, and whether the label decides."""
    ours = {one.name: one.version for one in context.packages.by_name.values() if suffix_of(one.version)}
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, ours))})\b")
    others = [one for one in context.packages.by_name.values() if ours and one.name not in ours]
    for distribution in others:
        paths = context.packages.python_files(distribution)
        about = [files.text(f"{distribution.info}/{name}") or "" for name in ("METADATA", "PKG-INFO", "requires.txt")]
        # What does not say that it has to do with ours is read where that takes little time.
        if len(paths) <= _FEW_FILES or any(map(named.search, about)):
            yield from _gate_rows(context, distribution, paths, ours)
            yield from _asked_rows(context, distribution, ours)


def _gate_rows(
    context: Context, distribution: InstalledDistribution, paths: Sequence[str], ours: Mapping[str, str]
) -> Iterator[Row]:
    """Yield where a distribution's code does something else for our version than for upstream's."""
    places: dict[tuple[str, bool, bool], list[str]] = {}
    for one in find_gates(context.packages, paths, ours):
        places.setdefault((one.project, one.parts, one.refuses), []).append(f"{one.path}:{one.line}")
    for (project, parts, refuses), lines in places.items():
        done, expected, why = f"compared with {versions.public(ours[project])}", *_COMPARED
        if parts:
            done, expected, why = "taken apart", *_PARTED
        otherwise = "stops" if refuses else "takes another branch"
        yield Row(
            component=f"version of {project} in {distribution.name}",
            level="broken" if refuses else "compatible",
            found=f"{ours[project]}, {done} in {', '.join(lines[:3])}",
            expected=expected,
            why=f"{why}, unlike with upstream's: {distribution.name} {otherwise}",
            fix=f"take `Version(…).public` in {lines[0]}; or take another version of {distribution.name}",
        )


def _asked_rows(context: Context, distribution: InstalledDistribution, ours: Mapping[str, str]) -> Iterator[Row]:
    """Yield a distribution's requirements that name the release itself: pip and uv hold all but ``===`` for met."""
    lines = (files.text(f"{distribution.info}/METADATA") or "").partition("\n\n")[0].split("\n")
    for number, line in enumerate(lines, 1):
        text = line.removeprefix("Requires-Dist:").strip()
        wanted = _requirement_here(context, text) if text != line else None
        version = ours.get(canonicalize_name(wanted.name), "") if wanted else ""
        clauses = versions.clauses_at(range_of(text), versions.public(version)) if version else set()
        if wanted and clauses:
            met = "===" not in clauses
            yield Row(
                component=f"{wanted.name} for {distribution.name}",
                level="matched" if met else "broken",
                found=version,
                expected=f"{range_of(text)} ({distribution.info}/METADATA:{number})",
                why="" if met else "`===` compares the label of the patched wheel, too: pip and uv refuse it",
                fix="" if met else f"install {distribution.name} with --no-deps, or another version of it",
            )


def limits(context: Context) -> Iterator[Row]:
    """Yield whether packages keep within the limits that hold for every stack, as far as nothing lifts them.

    The stack that the machine is held against says by itself which versions of its own components it takes.
    """
    for limit in context.settings["limits"]:
        found = context.version(limit["component"])
        stated = context.stack and context.stack.component(limit["component"])
        if not found or stated or _is_lifted(context, limit.get("unless", {})):
            continue
        answer = versions.allows(limit["allow"], versions.public(found))
        level: Level = "unknown" if answer is None else "matched" if answer else "broken"
        name = context.settings["distributions"][limit["component"]]
        yield context.judge(limit["symptom"], name, level, found, limit["allow"], source=limit["source"])


def _is_lifted(context: Context, unless: Mapping[str, str]) -> bool:
    """Return whether a component, as the stack pins it or else as installed, is at a version that lifts a limit."""
    overlays = context.stack.overlays if context.stack else ()
    pins = {pin.partition("@")[0]: pin.partition("@")[2] for pin in overlays}
    for name, allow in unless.items():
        stated = context.stack.component(name) if context.stack else None
        version = pins.get(name) or (stated.version if stated else "") or versions.public(context.version(name))
        # A commit id of digits alone would be a version, and a high one.
        is_commit = name in pins and "." not in version
        if not is_commit and versions.allows(allow, version):
            return True
    return False


def parse(text: str) -> Requirement | None:
    """Return a requirement; None where the text is none."""
    try:
        return Requirement(text) if len(text) <= _LONGEST else None
    except InvalidRequirement:
        return None


def of_an_extra(text: str) -> bool:
    """Return whether a requirement says in so many words that it is one of an extra, as most lines of a record do."""
    return _OF_AN_EXTRA.search(text) is not None


def range_of(text: str) -> str:
    """Return the range of a requirement as it is written, empty for any version; `packaging` sorts its clauses."""
    found = _BEFORE.match(text)
    rest = text[found.end() :].partition(";")[0].strip() if found else ""
    return "" if rest.startswith("@") else rest.strip("()").strip()


def applies(requirement: Requirement, *, python: str, machine: str) -> bool:
    """Return whether a requirement's condition holds on a Linux machine that asks for no extra.

    Args:
        requirement: the requirement.
        python: version of Python, ``3.10.13``.
        machine: the processor's name.
    """
    environment = {
        "python_version": ".".join(python.split(".")[:2]),
        "python_full_version": python,
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_version": "",
        "extra": "",
    }
    try:
        return requirement.marker is None or requirement.marker.evaluate(environment)
    except (UndefinedComparison, UndefinedEnvironmentName):
        return False
