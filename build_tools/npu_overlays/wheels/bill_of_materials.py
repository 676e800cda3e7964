"""Bill of materials: a wheel's METADATA and summary → the same facts as CycloneDX.

It adds no fact, so `verify-wheel` generates it again from these and compares. It has no date, and its serial number is
derived from its content: equal inputs give equal bytes.

It is written here, and not by CycloneDX's own library: its bytes would depend on that library's version.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from itertools import chain
from typing import Any
from urllib.parse import quote

from packaging.utils import canonicalize_name

from npu_overlays.wheels.requirements import of_extras
from npu_summary import provenance
from npu_summary.changes import Changes, ClassChange, FileChange, Reason, Upstream
from npu_summary.installed import DIFF, SUFFIX

_SPECIFICATION = "1.6"
# A namespace of our own, for numbers that follow from content.
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "npu-overlays")
_COMMIT = re.compile(r"/commit/[0-9a-f]{7,40}$")
# What a requirement begins with; to parse all of them, hundreds with extras, takes longer than all else here.
_NAME = re.compile(r"[\w.-]+")
_URL = re.compile(r"https?://\S+$")

Value = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts in a wheel's METADATA."""

    name: str  # the distribution
    version: str  # its version
    summary: str  # what it is, in a line
    licence: str  # its licence as an SPDX expression, or in words; empty if not stated
    expression: bool  # whether it is such an expression
    requires: tuple[str, ...]  # what it requires, each as it is stated


def facts(metadata: str) -> Facts:
    """Return the facts in the text of a METADATA file."""
    message: Message = HeaderParser().parsestr(metadata)
    expression = str(message["License-Expression"] or "")
    words = " ".join(str(message["License"] or "").split())
    return Facts(
        name=str(message["Name"]),
        version=str(message["Version"]),
        summary=str(message["Summary"] or ""),
        licence=expression or words,
        expression=bool(expression),
        requires=tuple(str(text) for text in message.get_all("Requires-Dist", [])),
    )


def bill_name(distribution: str) -> str:
    """Return the file name of a distribution's bill of materials in ``sboms/``."""
    return f"{distribution}.cdx.json"


def bill(stated: Facts, record: Changes | None = None) -> bytes:
    """Return the bill of materials of a wheel.

    Args:
        stated: the facts in its METADATA.
        record: of a patched one the content of its ``changes.json``; None for a companion.
    """
    upstream = _upstream(record["upstream"], stated) if record else None
    parts = [*([{**upstream, "bom-ref": "upstream"}] if upstream else []), *_required(stated)]
    reference = f"pkg:pypi/{canonicalize_name(stated.name)}@{quote(stated.version, safe='')}"
    own = {**_component(stated.name, stated.version, reference, stated.summary), **_licences(stated)}
    if record and upstream:
        own["pedigree"] = _pedigree(record, upstream)
    direct = [one["bom-ref"] for one in parts if one.get("scope") != "optional"]
    value = {
        "$schema": f"http://cyclonedx.org/schema/bom-{_SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": _SPECIFICATION,
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "tools": {"components": [{"type": "application", "name": "npu-overlays"}]},
            "component": {**own, "bom-ref": reference},
        },
        "components": parts,
        "dependencies": [{"ref": reference, "dependsOn": direct}, *({"ref": one["bom-ref"]} for one in parts)],
    }
    number = uuid.uuid5(_NAMESPACE, _json(value))
    return f"{_json({**value, 'serialNumber': f'urn:uuid:{number}'})}\n".encode()


def _json(value: Value) -> str:
    """Return JSON on one line: Python takes ten times as long to indent it."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _component(name: str, version: str, purl: str, description: str) -> Value:
    said = {"type": "library", "name": name, "version": version, "purl": purl, "description": description}
    return {key: value for key, value in said.items() if value}


def _licences(stated: Facts) -> Value:
    if not stated.licence:
        return {}
    return {
        "licenses": [{"expression": stated.licence} if stated.expression else {"license": {"name": stated.licence}}]
    }


def _upstream(pinned: Upstream, stated: Facts) -> Value:
    """Return upstream, identified by its commit or its archive."""
    source = pinned["source"]
    purl = f"pkg:pypi/{canonicalize_name(pinned['project'])}@{quote(pinned['version'], safe='')}"
    made = _component(pinned["project"], pinned["version"], purl, f"Its files are in {stated.name}, patched")
    if source["kind"] == "archive":
        made["purl"] += f"?file_name={quote(source.get('archive', ''), safe='')}"
        made["hashes"] = [{"alg": "SHA-256", "content": source.get("sha256", "")}]
    else:
        place = f"git+{pinned['repository']}@{pinned['commit']}"
        made["purl"] += f"?vcs_url={quote(place, safe=':/')}"
    if pinned["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": _url(pinned["repository"])}]
    return {**made, **_licences(stated)}


def _required(stated: Facts) -> list[Value]:
    """Return a wheel's requirements without versions, which its installer chooses."""
    lines: dict[str, list[str]] = {}
    for text in stated.requires:
        name = _NAME.match(text)
        lines.setdefault(canonicalize_name(name[0] if name else text), []).append(text)
    lines.pop(canonicalize_name(stated.name), None)  # extras that ask for other extras
    return [_requirement(name, texts) for name, texts in sorted(lines.items())]


def _requirement(name: str, texts: list[str]) -> Value:
    return {
        "type": "library",
        "name": name,
        "purl": f"pkg:pypi/{name}",
        "bom-ref": f"pkg:pypi/{name}",
        "scope": "optional" if len(of_extras(texts)) == len(texts) else "required",
        "properties": [{"name": "npu-overlays:requires", "value": text} for text in texts],
    }


def _pedigree(record: Changes, upstream: Value) -> Value:
    """Return a patched wheel's upstream, and every operation as a patch with its reasons."""
    pinned, overlay = record["upstream"], record["overlay"]
    said: Value = {
        "ancestors": [upstream],
        "patches": list(chain.from_iterable(_patches(file, record) for file in record["files"])),
        "notes": f"{provenance.made_of(record)}; overlay {overlay['name']}, {provenance.revision(record)}",
    }
    # A commit that nothing has confirmed is named in the notes alone, with that doubt.
    if pinned["commit"] and pinned["compared"]:
        said["commits"] = [{"uid": pinned["commit"], "url": _url(pinned["repository"])}]
    return said


def _patches(file: FileChange, record: Changes) -> Iterator[Value]:
    """Yield the changes of a file."""
    diff = f"{record['distribution']['name'].replace('-', '_')}{SUFFIX}/{DIFF}"
    for symbol, reasons in _explained(file):
        place = f"{file['path']}:{symbol}" if symbol else file["path"]
        backported = any(_COMMIT.search(reason["forwarded"]) for reason in reasons)
        yield {
            "type": "backport" if backported else "unofficial",
            "diff": {"url": diff},
            "resolves": [_issue(place, reason) for reason in reasons],
        }


def _explained(file: FileChange) -> Iterator[tuple[str, list[Reason]]]:
    """Yield each changed symbol of a file, empty for the file itself, with the reasons."""
    for change in file["module_changes"]:
        yield change["name"], [change, *change.get("also", [])]
    for entry in file["class_changes"]:
        if "why" in entry:
            yield entry["name"], [_whole(entry), *entry.get("also", [])]
        for change in entry["changes"]:
            yield f"{entry['name']}.{change['name']}", [change, *change.get("also", [])]


def _whole(entry: ClassChange) -> Reason:
    """Return the reason of a class that was added or deleted."""
    return {
        "operation": entry.get("operation", ""),
        "why": entry.get("why", ""),
        "forwarded": entry.get("forwarded", ""),
        "drop_when": entry.get("drop_when", ""),
        "overlay": entry.get("overlay", ""),
    }


def _issue(place: str, reason: Reason) -> Value:
    """Return the reason of a change as a resolved issue, with the address it was forwarded to."""
    why = f"{reason['why']} Drop it when: {reason['drop_when']}" if reason["drop_when"] else reason["why"]
    made: Value = {
        "type": "enhancement",
        "name": f"{reason['operation']} {place}",
        "description": why,
        "source": {"name": reason["overlay"]},
    }
    if _URL.match(reason["forwarded"]):
        made["references"] = [_url(reason["forwarded"])]
    elif reason["forwarded"]:
        made["id"] = reason["forwarded"]
    return made


def _url(text: str) -> str:
    return quote(text, safe=":/@%?#=&+~")
