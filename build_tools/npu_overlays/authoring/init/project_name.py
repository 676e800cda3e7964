"""Project name: the files of a source tree → the name that they give their project."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Callable, Mapping

from packaging.utils import canonicalize_name

from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.tables import parse_toml


def check_name(project: str, files: Mapping[str, bytes]) -> None:
    """Refuse a tree that names another project as its own; raises `UsageError`."""
    file, name = stated_name(files)
    if name and canonicalize_name(name) != project:
        what = f"is not what this repository holds: {file} says that its project is called {name}"
        fix = f"npu-overlays init {name} …, or name the repository of {project}"
        raise UsageError(Problem(where=project, what=what, fix=fix))


def stated_name(files: Mapping[str, bytes]) -> tuple[str, str]:
    """Return the file that names the project of a source tree, and the name; empty where none does.

    Args:
        files: by repository path.
    """
    for file, reader in _READERS.items():
        if file in files and (name := reader(files[file].decode("utf-8", "replace"))):
            return file, name
    return "", ""


def _of_pyproject(text: str) -> str:
    values = parse_toml(text.encode())
    tool = values.get("tool")
    tables = (values.get("project"), tool.get("poetry") if isinstance(tool, dict) else None)
    for table in tables:
        name = table.get("name") if isinstance(table, dict) else None
        if isinstance(name, str) and name:
            return name
    return ""


def _of_setup_cfg(text: str) -> str:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return ""
    return parser.get("metadata", "name", fallback="").strip()


def _of_setup_py(text: str) -> str:
    """Return the name that a call of ``setup`` is given as a text; upstream's code is not run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setup"):
            for word in node.keywords:
                value = word.value.value if isinstance(word.value, ast.Constant) else None
                if word.arg == "name" and isinstance(value, str):
                    return value
    return ""


_READERS: dict[str, Callable[[str], str]] = {
    "pyproject.toml": _of_pyproject,
    "setup.cfg": _of_setup_cfg,
    "setup.py": _of_setup_py,
}
