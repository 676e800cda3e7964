"""Metadata: upstream's core metadata → the facts that a patched wheel carries over.

The facts come from upstream's own build backend, or from the release archive
it made, once, when the overlay is locked; a build needs neither again.
"""

from __future__ import annotations

import configparser
import email
import email.policy
import email.utils
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npu_overlays.errors import Problem, SourceError
from npu_overlays.overlay.tables import parse_toml
from npu_overlays.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class UpstreamMetadata:
    """What a patched wheel takes over from upstream's metadata.

    Args:
        version: upstream's version, as its backend states it.
        requires: requirements, markers of extras included, in upstream's order.
        extras: names of extras, in upstream's order.
        fields: further values for the ``[project]`` table: ``description``, ``requires-python``,
            ``license`` or ``license-expression``, ``keywords``, ``classifiers``, ``authors``, ``urls``,
            ``import-names``, ``import-namespaces``.
        scripts: console scripts, name to object reference.
        entry_points: the other entry points, by group.
        readme: repository path of the long description, or empty.
        readme_type: its content type.
    """

    version: str
    requires: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    fields: Mapping[str, Any]
    scripts: Mapping[str, str]
    readme: str = ""
    readme_type: str = ""
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def parse_metadata(text: str, entry_points: str, *, readme: str) -> UpstreamMetadata:
    """Return the facts in a core metadata file.

    Args:
        text: the METADATA or PKG-INFO file.
        entry_points: the entry_points.txt beside it, may be empty.
        readme: repository path of the file the long description was made from, or empty.
    """
    message = email.message_from_string(text, policy=email.policy.compat32)
    fields: dict[str, Any] = {
        "description": str(message.get("Summary", "")),
        "requires-python": str(message.get("Requires-Python", "")),
        "license": str(message.get("License") or ""),
        "license-expression": str(message.get("License-Expression") or ""),
        "keywords": _keywords(str(message.get("Keywords", ""))),
        "classifiers": [str(value) for value in message.get_all("Classifier", [])],
        "authors": _people(message, "Author"),
        "maintainers": _people(message, "Maintainer"),
        "urls": _urls(message),
        "import-names": [name for value in message.get_all("Import-Name", []) if (name := str(value).strip())],
        "import-namespaces": [str(value).strip() for value in message.get_all("Import-Namespace", [])],
    }
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names of scripts keep their case
    parser.read_string(entry_points)
    return UpstreamMetadata(
        version=str(message["Version"]),
        requires=tuple(str(value) for value in message.get_all("Requires-Dist", [])),
        extras=tuple(str(value) for value in message.get_all("Provides-Extra", [])),
        fields={name: value for name, value in fields.items() if value},
        scripts=dict(parser["console_scripts"]) if parser.has_section("console_scripts") else {},
        readme=readme,
        # Where nothing is said, it is no Markdown; what is said may have parameters, which hatchling does not take.
        readme_type=str(message.get("Description-Content-Type", "text/plain")).partition(";")[0].strip(),
        entry_points={name: dict(parser[name]) for name in parser.sections() if name != "console_scripts"},
    )


def _people(message: email.message.Message, kind: str) -> list[dict[str, str]]:
    """Return names and addresses; a name that only repeats one beside an address is left out."""
    pairs = email.utils.getaddresses([str(message.get(f"{kind}-email") or "")])
    authors = [{"name": name, "email": address} if name else {"email": address} for name, address in pairs if address]
    name = str(message.get(kind) or "")
    known = name in (author.get("name") for author in authors)
    return authors if known or not name else [{"name": name}, *authors]


def _keywords(text: str) -> list[str]:
    """Return keywords: separated by commas as the specification wants, or by blanks as setuptools wrote them."""
    parts = text.split(",") if "," in text else text.split()
    return [part.strip() for part in parts if part.strip()]


def _urls(message: email.message.Message) -> dict[str, str]:
    urls = {"Homepage": str(message["Home-page"])} if message["Home-page"] else {}
    for entry in message.get_all("Project-URL", []):
        label, _, url = str(entry).partition(",")
        urls[label.strip()] = url.strip()
    return urls


def upstream_metadata(tree: SourceTree) -> UpstreamMetadata:
    """Return the metadata of a source tree, by upstream's own backend for git; raises `SourceError`.

    For git this runs upstream's build backend in an isolated environment,
    which is set up from the user's package index.
    """
    readme = next((path for path in tree.entries if path.lower() in ("readme.md", "readme.rst", "readme.txt")), "")
    entry_points = tree.entry_points if tree.wheel else sdist_entry_points(tree)
    if tree.metadata and entry_points is not None:
        return parse_metadata(tree.metadata, entry_points, readme=readme or "README.md")
    text, built = _run_backend(tree)
    return parse_metadata(text, built, readme=readme)


def sdist_entry_points(tree: SourceTree) -> str | None:
    """Return the entry points of an sdist as the text a wheel holds; None where only its backend can tell.

    An sdist does not have to list them: setuptools does, others say them in pyproject.toml.
    """
    infos = [path for path in tree.entries if path.endswith(".egg-info/SOURCES.txt")]
    if infos:
        listed = f"{infos[0].rpartition('/')[0]}/entry_points.txt"
        return tree.read(listed).decode("utf-8") if listed in tree else ""
    project = parse_toml(tree.read("pyproject.toml")).get("project") if "pyproject.toml" in tree else None
    if not isinstance(project, dict) or {"scripts", "gui-scripts", "entry-points"} & set(project.get("dynamic", [])):
        return None
    groups = {"console_scripts": project.get("scripts", {}), "gui_scripts": project.get("gui-scripts", {})}
    groups |= project.get("entry-points", {})
    return "".join(
        f"[{name}]\n{''.join(f'{key} = {value}' + chr(10) for key, value in points.items())}"
        for name, points in groups.items()
        if points
    )


def _run_backend(tree: SourceTree) -> tuple[str, str]:
    import tempfile  # noqa: PLC0415  # these three only matter when an overlay is locked

    from build import BuildBackendException, BuildException, ProjectBuilder  # noqa: PLC0415
    from build.env import DefaultIsolatedEnv  # noqa: PLC0415
    from pyproject_hooks import quiet_subprocess_runner  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="npu-overlays-metadata-") as folder:
        source = Path(folder, "source")
        tree.unpack(source)
        try:
            with warnings.catch_warnings(), DefaultIsolatedEnv() as environment:
                warnings.simplefilter("ignore")  # the backend's opinion of upstream's configuration
                builder = ProjectBuilder.from_isolated_env(environment, source, runner=quiet_subprocess_runner)
                environment.install(builder.build_system_requires)
                environment.install(builder.get_requires_for_build("wheel"))
                info = Path(builder.metadata_path(Path(folder, "metadata")))
        except (BuildException, BuildBackendException) as error:
            what = f"upstream's build backend gave no metadata: {error}"
            raise SourceError(
                Problem(where=tree.origin.commit, what=what, fix="see its output with --verbose")
            ) from error
        entry_points = info / "entry_points.txt"
        return (info / "METADATA").read_text("utf-8"), entry_points.read_text("utf-8") if entry_points.is_file() else ""
