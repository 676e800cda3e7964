"""Core metadata: upstream's core metadata file → the facts that a patched wheel takes over."""

from __future__ import annotations

import configparser
import email
import email.policy
import email.utils
from typing import Any

from npu_overlays.contracts.metadata import UpstreamMetadata


def parse_metadata(text: str, entry_points: str, *, readme: str) -> UpstreamMetadata:
    """Return the facts in a core metadata file.

    Args:
        text: the METADATA or PKG-INFO file.
        entry_points: the entry_points.txt beside it; may be empty.
        readme: repository path of the file the long description was made from, or empty.
    """
    message = email.message_from_string(text, policy=email.policy.compat32)
    fields: dict[str, Any] = {
        "description": str(message.get("Summary", "")),
        "requires-python": str(message.get("Requires-Python", "")),
        "license": str(message.get("License") or ""),
        "license-expression": str(message.get("License-Expression") or ""),
        "keywords": _keywords(str(message.get("Keywords", ""))),
        "classifiers": list(map(str, message.get_all("Classifier", []))),
        "authors": _people(message, "Author"),
        "maintainers": _people(message, "Maintainer"),
        "urls": _urls(message),
        "import-names": list(filter(None, (str(value).strip() for value in message.get_all("Import-Name", [])))),
        "import-namespaces": [str(value).strip() for value in message.get_all("Import-Namespace", [])],
    }
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names of scripts keep their case
    parser.read_string(entry_points)
    return UpstreamMetadata(
        version=str(message["Version"]),
        requires=tuple(map(str, message.get_all("Requires-Dist", []))),
        extras=tuple(map(str, message.get_all("Provides-Extra", []))),
        fields={name: value for name, value in fields.items() if value},
        scripts=dict(parser["console_scripts"]) if parser.has_section("console_scripts") else {},
        readme=readme,
        # The default is no Markdown; a content type may have parameters, which hatchling refuses.
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
    """Return keywords, separated by commas as specified, or by blanks as setuptools wrote them."""
    parts = text.split(",") if "," in text else text.split()
    return list(filter(None, map(str.strip, parts)))


def _urls(message: email.message.Message) -> dict[str, str]:
    urls = {"Homepage": str(message["Home-page"])} if message["Home-page"] else {}
    for entry in message.get_all("Project-URL", []):
        label, _, url = str(entry).partition(",")
        urls[label.strip()] = url.strip()
    return urls
