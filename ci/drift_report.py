"""The overlays on disk → how far those of the newest commits are from upstream's head, as one report.

usage:
  python ci/drift_report.py FOLDER [STEP]   FOLDER/report.md, and NAME.html and NAME.json of each; every STEPth commit

Takes of each project the pin of the newest version that names a commit: a release archive alone has no history.
exit codes: 0 written; 1 one could not be examined, which the report says; 2 wrong usage.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.version import Version

from try_wheels import as_text

_PROGRAM = (sys.executable, "-m", "npu_overlays")
_RANGE = "..HEAD"
# An issue holds 65,536 characters.
_MOST = 60


def main(arguments: list[str]) -> int:
    """Write the report; returns the exit code."""
    if (
        len(arguments) not in {1, 2}
        or arguments[0].startswith("-")
        or not all(number.isdecimal() for number in arguments[1:])
    ):
        print(__doc__, file=sys.stderr)
        return 2
    folder, step = Path(arguments[0]), (arguments[1:] or ["1"])[0]
    folder.mkdir(parents=True, exist_ok=True)
    texts, failed = [], False
    for name in _newest(json.loads(_run("list", "--json").stdout)["overlays"]):
        done = _run("drift", name, "--range", _RANGE, "--step", step, "--json", "--html", str(folder / f"{name}.html"))
        sys.stderr.write(as_text(done.stderr.decode(errors="replace")))
        failed = failed or done.returncode != 0
        if done.returncode == 0:
            (folder / f"{name}.json").write_bytes(done.stdout)
        texts.append(_section(name, done))
    (folder / "report.md").write_text("\n".join(texts), "utf-8")
    print(folder / "report.md")
    return int(failed)


def _run(*command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*_PROGRAM, *command], check=False, capture_output=True)


def _newest(overlays: list[dict[str, Any]]) -> list[str]:
    """Return of each project the name of the overlay of the newest version, of those that name a commit."""
    newest: dict[str, tuple[Version, str]] = {}
    for one in overlays:
        if one["commit"] and one["upstream"]:
            project = str(one["name"]).partition("@")[0]
            newest[project] = max(newest.get(project, (Version("0"), "")), (Version(one["upstream"]), one["name"]))
    return [name for _, (_, name) in sorted(newest.items())]


def _section(name: str, done: subprocess.CompletedProcess[bytes]) -> str:
    """Return what the report says of one overlay, in Markdown."""
    if done.returncode:
        problems = as_text(done.stderr.decode(errors="replace"))
        return f"## {name}\n\nIt could not be examined:\n\n```text\n{problems}\n```\n"
    found = json.loads(done.stdout)
    head, changes = found["commits"][-1], found["changes"]
    broken = [one for one in changes if not one["at-the-end"]["applies"]]
    lines = [
        f"## {name}",
        "",
        f"Upstream's head is {head['id']} of {head['date']}: {_code(head['subject'])}.",
        f"Of {len(changes)} changes {len(changes) - len(broken)} apply there as they are.",
        "",
    ]
    if broken:
        lines += ["| action | change | outcome | first broken by |", "|---|---|---|---|"]
        lines += [_row(one) for one in broken[:_MOST]]
        lines += [f"\nand {len(broken) - _MOST} more, in {name}.json"] if len(broken) > _MOST else []
        lines += ["", f"```bash\nnpu-overlays port {name} --to {head['id']}\n```", ""]
    return "\n".join(lines)


def _row(one: dict[str, Any]) -> str:
    end = one["at-the-end"]
    fate = f"{end['kind']} → {_code(end['to'])}" if end["to"] else end["kind"]
    return f"| {one['action']} | {_code(one['target'])} | {fate} | {_code((one['first-break'] or '')[:12])} |"


def _code(text: str) -> str:
    """Return text of others as code: no mention, link or markup of theirs is obeyed in an issue."""
    return f"`{text.replace('`', chr(0x2019)).replace('|', '¦')}`" if text else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
