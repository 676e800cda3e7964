"""Reports: what `port`, `drift`, `refresh` and `import-patches` answer on the overlays of this repository.

Ranges of commits need a repository that git reaches; ports between releases and the rest need the package index alone.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from environments import ROOT
from golden.run import Unreached, digest, output

_PORTS = (("transformers@5.10.4", "5.24.0"), ("transformers@4.57.6", "5.3.0"), ("verl@bec9ef7", "0.8.0"))
_DRIFTS = (("verl@796871d", "..v0.6.0"), ("verl@d62da49", "v0.6.1..v0.7.0"), ("transformers@8365f70", "..65adc3aaa39d"))
_EDITED = ("verl@0.9.1",)
_IMPORTED = "verl@0.9.1"
# In every file that the overlay changes: another condition, a longer string, one statement more.
_EDITS = (
    (re.compile(r"\bif self\.(\w+) is None:"), r"if not self.\1:"),
    (re.compile(r"(raise ValueError\(\s*f?\")"), r"\1Here: "),
    (
        re.compile(r"^(\s+)return hidden_states$", re.MULTILINE),
        r"\1hidden_states = hidden_states + 0\n\1return hidden_states",
    ),
)
_PARTS_LEFT = _REFUSED = 5


Reports: TypeAlias = Iterator[tuple[str, dict[str, Any]]]


def reports(work: Path) -> dict[str, str]:
    """Return the verdicts of each report line by line, and a digest of all it says; raises `Failed`."""
    found: dict[str, str] = {}
    for kind in (_ports, _drifts, _refreshes, _imports):
        try:
            for label, answer in kind(work):
                found |= dict(_lines(label, answer))
        except Unreached as error:
            print(f"not compared: {str(error).splitlines()[0]}", flush=True)
    return found


def _lines(label: str, answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a line for everything with a name that an answer lists, and one for the rest of it."""
    rest: list[Any] = []
    for key, value in answer.items():
        items = value if isinstance(value, list) else [value]
        for item in items:
            name = _name(item)
            if name:
                yield f"{label} {key} {name}", f"{_verdict(item)} {digest(json.dumps(item))}".strip()
            else:
                rest.append((key, item))
    yield label, digest(json.dumps(rest))


def _name(item: Any) -> str:
    known = item if isinstance(item, dict) else {}
    return " ".join(str(known[key]) for key in ("action", "target", "name", "path") if known.get(key))


def _verdict(item: Any) -> str:
    known = item if isinstance(item, dict) else {}
    return ", ".join(str(known[key]) for key in ("kind", "proposal") if known.get(key))


def _answer(
    work: Path, *arguments: str | Path, codes: tuple[int, ...] = (0,), is_offline: bool = False
) -> dict[str, Any]:
    """Return what a command answers as JSON, without the paths of this machine."""
    text = output(*arguments, "--json", codes=codes, is_offline=is_offline)
    answer: dict[str, Any] = json.loads(text.replace(str(work), "WORK").replace(str(ROOT), "ROOT"))
    return answer


def _copy(work: Path, name: str) -> Path:
    """Return a copy of the overlays that a command may write to."""
    return Path(shutil.copytree(ROOT / "overlays", work / name))


def _ports(work: Path) -> Reports:
    for overlay, version in _PORTS:
        label = f"port {overlay} {version}"
        overlays = _copy(work, label)
        # What was made from it: here it is made anew.
        shutil.rmtree(overlays / f"{overlay.partition('@')[0]}@{version}", ignore_errors=True)
        options = ("--to", version, "--source", "archive", "--overlays", overlays)
        yield label, _answer(work, "port", overlay, *options, codes=(0, _PARTS_LEFT), is_offline=True)


def _drifts(work: Path) -> Reports:
    for overlay, commits in _DRIFTS:
        yield f"drift {overlay} {commits}", _answer(work, "drift", overlay, "--range", commits, "--no-patches")


def _refreshes(work: Path) -> Reports:
    for overlay in _EDITED:
        folder = work / f"checkout {overlay}"
        output("checkout", overlay, folder)
        _edit(folder, overlay)
        options = ("--why", "For the corpus.", "--dry-run")
        yield f"refresh {overlay}", _answer(work, "refresh", overlay, folder, *options, codes=(0, _REFUSED))


def _edit(folder: Path, overlay: str) -> None:
    """Change upstream's modules in a checkout wherever a pattern fits."""
    operations = json.loads(output("show", overlay, "--json"))["operations"]
    for path in sorted({one["path"] for one in operations if one["path"].endswith(".py")}):
        file = folder / path
        text = file.read_text("utf-8")
        for pattern, replacement in _EDITS:
            text = pattern.sub(replacement, text, count=1)
        file.write_text(text, "utf-8")


def _imports(work: Path) -> Reports:
    project, _, version = _IMPORTED.partition("@")
    folder = work / "patches" / project / version
    folder.mkdir(parents=True)
    (folder / "all.patch").write_bytes(output("diff", _IMPORTED).encode())
    for form in ("patches", "operations"):
        options = ["--as", form, "--label", "corpus", "--why", "For the corpus.", "--dry-run"]
        options += ["--not-built", "scripts", "--not-built", "tests"]
        yield f"import {_IMPORTED} {form}", _answer(work, "import-patches", work / "patches", *options)
