"""Gates: a distribution's files, never run → where the label of an installed version decides what they do.

To `packaging.version` ``5.10.4+npu.1.a8c5b99b`` is greater than ``5.10.4``, and as text it is another one. So
``<=5.10.4`` holds for upstream's 5.10.4 and not for ours; and ``tuple(map(int, v.split(".")))`` raises for ours alone.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

from npu_doctor import files, names, versions
from npu_doctor.evaluation import Evaluation, Frame, Twin, applied
from npu_doctor.names import ModuleNames
from npu_doctor.packages import Packages

_READING = (ast.Assign, ast.Call, ast.Compare, ast.Match)


@dataclass(frozen=True, kw_only=True)
class Gate:
    """An expression whose result differs from that for the release."""

    path: str  # the file
    line: int  # its line
    project: str  # whose version it reads
    parts: bool  # whether it takes the version apart and raises; else it is a comparison with the other result
    refuses: bool  # whether an error that nothing there catches depends on it


def find_gates(packages: Packages, paths: Sequence[str], installed: Mapping[str, str]) -> Iterator[Gate]:
    """Yield the gates in the files of one distribution.

    Args:
        packages: where imports are looked up.
        paths: its Python files.
        installed: by the names of distributions that have a label, their versions.
    """
    for project, concerned in _concerned(paths, installed).items():
        version = installed[project]
        release = versions.public(version)
        evaluation = Evaluation(packages=packages, project=project, version=version, release=release)
        search = _Search(evaluation=evaluation)
        modules = list(filter(None, map(names.module, concerned)))
        with contextlib.suppress(RecursionError):  # an expression of a thousand terms
            for module in modules:
                search.note_constants(module)
        for path in set(paths).difference(concerned):
            if any(files.mentions(path, one) for one in evaluation.constants):
                modules += filter(None, [names.module(path)])
        for module in sorted(modules, key=lambda one: one.path):
            with contextlib.suppress(RecursionError):  # likewise
                yield from list(search.gates(module))


def _concerned(paths: Sequence[str], installed: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, by project that any of the files names, those that hold its release or may read its version."""
    found: dict[str, list[str]] = {project: [] for project in installed}
    releases = {project: re.compile(_spelled(version).encode()) for project, version in installed.items()}
    words = {project: re.compile(rb"(['\"]?)\b" + re.escape(project.encode()) + rb"\b") for project in installed}
    named: set[str] = set()
    for path in paths:
        content = files.content(path) or b""
        for project in installed:
            words_here = set(words[project].findall(content)) if project.encode() in content else set()
            named |= {project} if words_here else set()
            if (words_here - {b""} and b"ersion" in content) or releases[project].search(content):
                found[project].append(path)
    return {project: found[project] for project in installed if project in named}


def _spelled(version: str) -> str:
    """Return a pattern that every spelling of a release fits: ``5.0`` and ``"5"`` are 5.0.0, too."""
    start = re.sub(r"(\.0)*(\D*\.?dev.*)?$", "", versions.public(version))
    return re.escape(start) + ("" if "." in start else r"""(?:\.0|[ ,;"'])""")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Search:
    """The search in one distribution, for one project."""

    evaluation: Evaluation

    def note_constants(self, module: ModuleNames) -> None:
        """Note a module's constants that hold the release: other files may compare with them."""
        for name, values in module.values.items():
            if "version" in name.lower():
                held = chain.from_iterable(self.evaluation.values(one, self.evaluation.frame(module)) for one in values)
                if texts := [one for one in held if self._is_about(one) and not one.read]:
                    self.evaluation.constants.setdefault(name, []).extend(texts)

    def _is_about(self, value: Twin) -> bool:
        """Return whether a value is the release, holds it, or was made of the installed version."""
        texts = value.ours if isinstance(value.ours, (tuple, list)) else [value.ours]
        return value.read or any(isinstance(one, str) and self._names_release(one) for one in texts)

    def _names_release(self, text: str) -> bool:
        """Return whether a text is the release, or a requirement with a clause that names it."""
        release = self.evaluation.release
        return versions.same(text, release) or bool(versions.clauses_at(text, release))

    def gates(self, module: ModuleNames) -> Iterator[Gate]:
        """Yield the gates of one module, one a line of either kind."""
        texts = [one for one in module.texts if one == self.evaluation.project or self._names_release(one)]
        holders = module.holders([*texts, *self.evaluation.constants])
        refusing: dict[tuple[int, bool], bool] = {}
        for node in ast.walk(module.tree):
            if not isinstance(node, _READING) or names.words_in(node).isdisjoint(holders):
                continue
            frame = self.evaluation.frame(module, module.function_around(node))
            for parts in self._differences(node, frame):
                refuses = not module.is_caught(node) and (parts or _refuses(node, module))
                key = node.lineno, parts
                refusing[key] = refusing.get(key, False) or refuses
        for (line, parts), refuses in refusing.items():
            project = self.evaluation.project
            yield Gate(path=module.path, line=line, project=project, parts=parts, refuses=refuses)

    def _differences(self, node: ast.AST, frame: Frame) -> Iterator[bool]:
        """Yield that an expression differs, or what a call passes to a function: True where it raises."""
        calls = self.evaluation.calls(node, frame) if isinstance(node, ast.Call) else []
        for called in calls:
            if any(map(self._is_about, called.given.values())):
                for inner in ast.walk(called.calls[-1]):
                    yield from self._differences(inner, called)
        if calls:
            return
        for one in self._results(node, frame):
            if one.raises or one.turns:
                yield one.raises

    def _results(self, node: ast.AST, frame: Frame) -> Iterable[Twin]:
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if not isinstance(target, (ast.Tuple, ast.List)):
                return []
            values = self.evaluation.values(node.value, frame)
            return [applied(partial(_unpacked, target.elts), one) for one in values]
        if isinstance(node, ast.Match):
            patterns = chain.from_iterable(ast.walk(case.pattern) for case in node.cases)
            texts = [one.value for one in patterns if isinstance(one, ast.MatchValue)]
            return chain.from_iterable(self._compared(node.subject, text, frame) for text in texts)
        return self.evaluation.values(node, frame) if isinstance(node, (ast.Compare, ast.Call)) else []

    def _compared(self, subject: ast.expr, text: ast.expr, frame: Frame) -> list[Twin]:
        return self.evaluation.values(ast.Compare(left=subject, ops=[ast.Eq()], comparators=[text]), frame)


def _unpacked(targets: Sequence[ast.expr], held: object) -> object:
    is_plain = not any(isinstance(one, ast.Starred) for one in targets)
    if is_plain and isinstance(held, (str, tuple, list)) and len(held) != len(targets):
        raise ValueError(held)
    return held


def _refuses(node: ast.AST, module: ModuleNames) -> bool:
    """Return whether an error depends on an expression: asserted, called for its own sake, or tested for `raise`."""
    for inside, outside in pairwise([node, *module.around(node)]):
        if isinstance(outside, ast.If) and inside is outside.test:
            inner = chain.from_iterable(map(ast.walk, (*outside.body, *outside.orelse)))
            return any(isinstance(one, ast.Raise) for one in inner)
        if isinstance(outside, ast.stmt):
            return isinstance(outside, (ast.Assert, ast.Expr))
    return False
