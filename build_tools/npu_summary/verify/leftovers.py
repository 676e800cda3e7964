"""Leftovers: a subject → what patching at run time leaves in an installation."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from ..installed import normal_name, own_path
from ..plurals import plural
from ..stores import open_store
from .findings import Finding
from .subjects import Subject
from .surveys import Survey

REJECTED = (".rej", ".orig")
PLUGIN = "verl_npu"  # the plugin's import name; ours is verl_npu_summary
_PLUGIN_FILES = ("__init__.py", "plugin.py")
_INJECTED = re.compile(rb"^[ \t]*(?:import|from)[ \t]+verl_npu(?![\w])", re.MULTILINE)


def injects_plugin(content: bytes) -> bool:
    """Return whether Python source imports the plugin."""
    return _INJECTED.search(content) is not None


def check(subject: Subject, seen: Survey, path: Sequence[str] | None) -> Iterator[Finding]:
    """Yield rejected patches, the plugin, and what starts it; `path` as for `verify`."""
    rejected = [path for path in seen.added if path.endswith(REJECTED)]
    if rejected:
        what = f"{plural(len(rejected), 'file')} that `patch` left where it failed or was not sure"
        cause = "something patched these sources again after they were installed"
        if subject.for_npus:
            cause += ": the verl_npu plugin does at import"
        first = subject.installer.remove(rejected)
        yield subject.finding("rejected patch", what, cause, paths=rejected, first=first)
    if subject.for_npus:
        yield from _imports(subject, seen)
        if subject.place.project == "verl":
            yield from _plugin(subject)
    yield from _startup_hooks(subject, path)


def _imports(subject: Subject, seen: Survey) -> Iterator[Finding]:
    """Yield each package whose `__init__.py` imports the plugin."""
    for top in subject.tops:
        path, content = f"{top}/__init__.py", b""
        with suppress(OSError):
            content = subject.store.read(path) if path in seen.present else b""
        if injects_plugin(content):
            what = "imports the verl_npu plugin, which patches files at run time"
            cause = "the plugin's installer has written itself into the package"
            first = subject.installer.uninstall(PLUGIN)
            yield subject.finding("incumbent import", what, cause, paths=[path], first=first)


def _plugin(subject: Subject) -> Iterator[Finding]:
    """Yield where the plugin itself is installed, as files or as an editable clone."""
    folders: list[str] = []
    for root in dict.fromkeys([*(one.store.root for one in subject.dists), subject.store.root]):
        if not open_store(root).listing(PLUGIN).keys().isdisjoint(_PLUGIN_FILES):
            folders.append(os.path.join(root, PLUGIN))
    clones = [one.editable for one in subject.dists if one.key == normal_name(PLUGIN) and one.editable]
    if found := dict.fromkeys([*folders, *clones]):
        what = "the verl_npu plugin is installed; any import of it patches these sources again"
        cause = "an earlier set-up with MindSpeed-RL's plugin"
        first = (*subject.installer.uninstall(PLUGIN), *subject.installer.remove(folders))
        yield subject.finding("incumbent plugin", what, cause, paths=found, first=first)


def _startup_hooks(subject: Subject, path: Sequence[str] | None) -> Iterator[Finding]:
    """Yield .pth files that run code about the shipped packages in every Python process."""
    names = [package.replace("/", ".") for package in subject.packages if package != subject.place.package]
    names += [name for entry, name in subject.importable.items() if entry in subject.modules]
    names += [PLUGIN] if subject.for_npus else []
    code = re.compile(rf"import[ \t].*\b(?:{'|'.join(map(re.escape, names))})\b")
    for file, lines in pth_files(_sites(subject, path)):
        root, name = os.path.split(file)
        is_own = name in subject.files and root == subject.store.root
        if any(map(code.match, lines)) and not is_own:
            paths = [name if root == subject.store.root else file]
            what = "runs code about the patched packages whenever Python starts"
            cause = "an installer that patches at run time"
            yield subject.finding("startup hook", what, cause, paths=paths, repairs=subject.installer.remove(paths))


def _sites(subject: Subject, path: Sequence[str] | None) -> Iterable[str]:
    """Return the folders whose .pth files Python may read, each once; the user's too, where ``-I`` passes over it."""
    roots = [subject.store.root, *(own_path() if path is None else path)]
    if path is None and sys.prefix == sys.base_prefix and not os.environ.get("PYTHONNOUSERSITE"):
        import site

        roots.append(site.getusersitepackages())
    return {os.path.realpath(root): root for root in reversed(roots)}.values()


def pth_files(path: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield every .pth file of these folders, with its lines as Python reads them."""
    for root in path:
        for name in sorted(open_store(root).listing("")):
            if name.endswith(".pth"):
                with suppress(OSError):
                    content = open_store(root).read(name)
                    yield os.path.join(root, name), content.decode("utf-8-sig", "replace").splitlines()
