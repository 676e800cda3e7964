"""Settings: tables that a pin's ``pyproject.toml`` and a layer's ``layer.toml`` share → what they say, checked."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.requirements import InvalidRequirement, Requirement

from npu_overlays.overlay.acceptances import Acceptance, faults, read_acceptances
from npu_overlays.overlay.bounds import SINCE_UNTIL, Bounds
from npu_overlays.overlay.pin_faults import TRANSPORTS, url_fault
from npu_overlays.overlay.project import Assigned, Drop, FileSettings, TextEdit
from npu_overlays.overlay.tables import Table
from npu_overlays.paths import unsafe
from npu_overlays.sources.pin import home_of

_WORD = re.compile(r"[a-z][a-z0-9]*")
# A label in the form of a version's source part would be read as one.
_SOURCE = re.compile(r"[ga][0-9a-f]{7}")
Packages = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


def is_word(text: str) -> bool:
    """Return whether a text can be part of a wheel's name and version."""
    return bool(_WORD.fullmatch(text))


def check_words(table: Table, values: dict[str, str], fix: str = "") -> None:
    """Note what cannot become part of names, or be printed; `fix` is what to do where no configuration says them."""
    for key in ("suffix", "label"):
        if values.get(key) and not is_word(values[key]):
            what = f"`{values[key]}` is not one word of lower-case letters and digits"
            table.problem(key, what, fix or f'write {key} = "acme", for example')
    if _SOURCE.fullmatch(values.get("label", "")):
        what = f"`{values['label']}` would read as a commit or a digest in the version"
        table.problem("label", what, "choose another word")
    if not values.get("purpose", "").isprintable():
        table.problem("purpose", "holds characters that cannot be printed", "write one line of text")


def check_paths(table: Table, key: str, paths: Iterable[str]) -> None:
    """Note what is no path of the repository."""
    for path in paths:
        if unsafe(path):
            fix = "write it as git ls-files does, relative to the repository's root"
            table.problem(key, f"`{path}` is not a plain path inside the repository", fix)


def read_repository(upstream: Table, *, required: bool = False) -> tuple[str, tuple[str, ...]]:
    """Return the repository's URL and its mirrors."""
    repository = upstream.get("repository", str, None if required else "")
    mirrors = upstream.texts("mirrors")
    fix = f"write a URL of {', '.join(TRANSPORTS)}, or host:path; git's credential helper keeps passwords"
    for key, url in (("repository", repository), *(("mirrors", mirror) for mirror in mirrors)):
        fault = url_fault(url) if url else ""
        if fault:
            upstream.problem(key, fault, fix)  # not the URL itself: it may hold a password
    return repository, mirrors


def read_packages(table: Table) -> Packages:
    """Return the shipped folders, and the places of those whose path does not say how they are imported."""
    imports: list[tuple[str, str]] = []
    packages: list[str] = []
    hint = 'write packages = ["NAME"]: the folders of the repository that are shipped'
    entries = table.get("packages", list, hint=hint)
    for entry in entries:
        name = entry.get("import") if isinstance(entry, dict) else ""
        path = entry.get("path") if isinstance(entry, dict) else entry
        if not isinstance(path, str) or not isinstance(name, str) or (isinstance(entry, dict) and len(entry) != 2):  # noqa: PLR2004  # path and import
            fix = 'write "src/lib", or { path = "python/lib", import = "lib" }'
            table.problem("packages", f"{entry!r} is no path of a folder", fix)
            continue
        if name and not all(part.isidentifier() for part in name.split(".")):
            table.problem("packages", f"`{name}` cannot be imported", 'write import = "lib", or "space.lib"')
        packages.append(path)
        imports += [(path, home_of(path, name))] if name else []
    if not entries:
        table.problem("packages", "is empty", 'write packages = ["NAME"]')
    check_paths(table, "packages", packages)
    return tuple(packages), tuple(imports)


def read_dependencies(table: Table) -> tuple[str, ...]:
    """Return the requirements added to upstream's."""
    dependencies = table.texts("dependencies")
    for dependency in dependencies:
        try:
            Requirement(dependency)
        except InvalidRequirement as error:
            what = f"`{dependency}` is not a requirement: {error}".splitlines()[0]
            table.problem("dependencies", what, 'write it as pip takes it: "einops>=0.7"')
    return dependencies


def read_bounds(table: Table) -> Bounds:
    """Return to which versions of upstream what a table says applies."""
    bounds = Bounds(**{key: table.get(key, str, "") for key in SINCE_UNTIL})
    for key, what, fix in bounds.faults():
        table.problem(key, what, fix.replace('="', ' = "'))
    return bounds


def read_accept(table: Table) -> tuple[Acceptance, ...]:
    """Return the dangers that a table lets stand."""
    texts = table.texts("accept")
    for what, fix in faults(texts):
        table.problem("accept", what, fix)
    return read_acceptances(texts)


def read_edits(table: Table) -> tuple[TextEdit, ...]:
    """Return the substitutions in files that are not Python."""
    found: list[TextEdit] = []
    for one in table.tables("edit"):
        edit = TextEdit(
            paths=one.texts("paths", required=True),
            find=one.filled("find"),
            replace=one.get("replace", str),
            count=one.positive("count", 1),
            why=one.filled("why", hint='write why = "…": the reason, in one sentence for a user of the wheel'),
            bounds=read_bounds(one),
            accept=read_accept(one),
        )
        if edit.find and edit.find == edit.replace:
            one.problem("replace", "is the same as find", "write what takes its place, or delete the edit")
        check_paths(one, "paths", edit.paths)
        for path in edit.paths:
            if path.endswith(".py"):
                one.problem("paths", f"`{path}` is Python", "use @edited in a merge module")
        one.refuse_others()
        found.append(edit)
    return tuple(found)


def read_drops(table: Table) -> tuple[Drop, ...]:
    """Return what is dropped of the layers below."""
    found: list[Drop] = []
    for one in table.tables("drop"):
        name = one.filled(
            "name", hint='write name = "path/of/file.py:Class.method", or the path of a file, folder/ or patch'
        )
        why = one.filled("why", hint='write why = "…": the reason, in one sentence')
        found.append(Drop(name=name, why=why, bounds=read_bounds(one)))
        one.refuse_others()
    return tuple(found)


def read_files(table: Table) -> tuple[FileSettings, ...]:
    """Return the settings of added files."""
    found: list[FileSettings] = []
    for one in table.tables("file"):
        file = FileSettings(path=one.filled("path"), bounds=read_bounds(one), accept=read_accept(one))
        if not file.bounds and "accept" not in one.keys():  # noqa: SIM118  # a method of Table
            what = "missing, and so are until and accept: the table sets nothing"
            one.problem("since", what, "write one of the three, or delete the table")
        check_paths(one, "path", [file.path])
        one.refuse_others()
        found.append(file)
    return tuple(found)


def read_assigned(table: Table) -> tuple[Assigned, ...]:
    """Return what upstream still assigns at run time."""
    found: list[Assigned] = []
    for one in table.tables("assigned"):
        assigned = Assigned(
            when=one.filled("when", hint='write when = "an engine is started", for example'),
            what=one.texts("what", required=True),
            why=one.filled("why", hint='write why = "…": why it is left so, in one sentence for a user of the wheel'),
            bounds=read_bounds(one),
        )
        for name in assigned.what:
            if not _is_symbol(name):
                fix = 'write "package.module:Class.method"; * stands for any characters'
                one.problem("what", f"`{name}` is no module with a symbol of it", fix)
        for name in sorted({name for name in assigned.what if assigned.what.count(name) > 1}):
            one.problem("what", f"names `{name}` twice", "name it once")
        one.refuse_others()
        found.append(assigned)
    return tuple(found)


def _is_symbol(name: str) -> bool:
    """Return whether a text is ``module:symbol``, both of identifiers with dots; ``*`` stands for any characters."""
    module, colon, symbol = name.replace("*", "_").partition(":")
    return bool(colon) and all(map(str.isidentifier, (*module.split("."), *symbol.split("."))))
