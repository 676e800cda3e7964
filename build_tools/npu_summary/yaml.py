"""YAML: changes → the summary in the schema of ``patch_summary.yaml``.

The schema has no place for operations that were not applied; they follow as comments, which its readers ignore.
"""

from __future__ import annotations

from . import outline, provenance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .changes import Change, Changes, ClassChange, FileChange

_WORDS = frozenset(["true", "false", "yes", "no", "on", "off", "y", "n", "null"])
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./@+")
_LETTERS = frozenset("acdf")  # of a hexadecimal number, those no decimal one has
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def render(distributions: Iterable[Changes], *, why: bool = False) -> str:
    """Render a document of distributions in that order, if asked with the reasons that each change has."""
    lines: list[str] = []
    for changes in distributions:
        lines += _distribution(changes, why=why)
    return "\n".join(["patches:" if lines else "patches: []", *lines, ""])


def scalar(value: str) -> str:
    r"""Return the string as a YAML scalar on one line that any YAML 1.1 or 1.2 reader takes for that very string.

    What is not ASCII stands in double quotes, where the ``\x``, ``\u`` and ``\U`` escapes that a narrow output encoding
    may put in are YAML's too.
    """
    return value if _is_plain(value) else f'"{"".join(map(_escape, value))}"'


def _is_plain(value: str) -> bool:
    if not value or not _PLAIN.issuperset(value) or value.lower() in _WORDS:
        return False
    if value[0].isdigit():  # a commit, unless it could be read as a number: 1234567, 12e4567, 0x1f, 1_0
        return value.isalnum() and value[1:2] not in ("x", "o", "b") and not _LETTERS.isdisjoint(value)
    return value[0].isalpha() or value[0] == "_"


def _escape(char: str) -> str:
    if char in _ESCAPES or char.isprintable():
        return _ESCAPES.get(char, char)
    code = ord(char)
    return f"\\U{code:08x}" if code >> 16 else f"\\u{code:04x}"


def _distribution(changes: Changes, *, why: bool) -> Iterator[str]:
    upstream = changes["upstream"]
    yield f"  - repo: {scalar(upstream['project'])}"
    revision = upstream["commit"] or upstream["version"]
    yield f"    current_rev: {scalar(revision)}"
    yield "    versions:"
    yield f"      - rev: {scalar(revision)}"
    yield f"        dir: {scalar(changes['overlay']['name'])}"
    yield "        files:" if changes["files"] else "        files: []"
    for file in changes["files"]:
        yield from _file(file, why=why)
    for operation in changes["not_applied"]:
        named = f"{scalar(operation['operation'])} {scalar(provenance.target(operation))}"
        yield f"        # not applied, the upstream source lacks the file: {named}"


def _file(file: FileChange, *, why: bool) -> Iterator[str]:
    name = file["path"].rpartition("/")[2].removesuffix(".py")
    yield f"          - name: {scalar(name)}"
    classes, module = file["class_changes"], outline.module_changes(file)
    yield "            diff:" if classes or module else "            diff: {}"
    if classes:
        yield "              class_changes:"
    indent = " " * 18
    for entry in classes:
        yield f"                - action: {scalar(entry['action'])}"
        yield f"{indent}name: {scalar(entry['name'])}"
        if why:
            yield from _reasons(entry, indent)
        if entry["changes"]:
            yield f"{indent}changes:"
            yield from _items(entry["changes"], " " * 20, why=why)
    if module:
        yield "              module_changes:"
        yield from _items(module, " " * 16, why=why)


def _items(changes: list[Change], indent: str, *, why: bool) -> Iterator[str]:
    for change in changes:
        yield f"{indent}- action: {scalar(change['action'])}"
        yield f"{indent}  kind: {scalar(change['kind'])}"
        yield f"{indent}  name: {scalar(change['name'])}"
        if why:
            yield from _reasons(change, f"{indent}  ")


def _reasons(change: Change | ClassChange, indent: str) -> Iterator[str]:
    for field, text in outline.by_field(change, outline.PLAIN):
        yield f"{indent}{field}: {scalar(text)}"
