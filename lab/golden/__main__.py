"""What the tool makes and says → lab/golden/corpus; or whether it still is what stands there.

usage: python -m golden [--write] [SECTION ...]     sections: artefacts, reports, refusals; all by default

exit codes: 0 written, or unchanged; 1 changed, every line is printed; 2 a section could not be made
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from golden.artefacts import artefacts
from golden.refusals import refusals
from golden.reports import reports
from golden.run import Failed

CORPUS = Path(__file__).parent / "corpus"
SECTIONS: Mapping[str, Callable[[Path], dict[str, str]]] = {
    "artefacts": artefacts,
    "reports": reports,
    "refusals": refusals,
}


def main() -> int:
    """Make the sections that are named and write or compare each; returns the exit code."""
    parser = argparse.ArgumentParser(prog="golden", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the corpus, instead of comparing")
    parser.add_argument("sections", nargs="*", metavar="SECTION", choices=[*SECTIONS, []], help="default: all")
    options = parser.parse_args()
    worst = 0
    for name in options.sections or SECTIONS:
        with tempfile.TemporaryDirectory(prefix="npu-overlays-golden-") as work:
            try:
                found = SECTIONS[name](Path(work))
            except Failed as error:
                print(f"{name}: {error}", file=sys.stderr)
                worst = 2
                continue
        worst = max(worst, _write(name, found) if options.write else _compare(name, found))
    return worst


def _write(name: str, found: Mapping[str, str]) -> int:
    """Write a section; what cannot be reached today keeps its lines, unless the section has no such thing."""
    CORPUS.mkdir(exist_ok=True)
    kept = {} if name == "refusals" else _unreached(_read(name), found)
    lines = (f"{key}\t{value}".rstrip() for key, value in sorted({**kept, **found}.items()))
    (CORPUS / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{name}: {len(found)} lines written, {len(kept)} kept")
    return 0


def _compare(name: str, found: Mapping[str, str]) -> int:
    """Print every line of a section that is not what the corpus has."""
    known = _read(name)
    unreached = {} if name == "refusals" else _unreached(known, found)
    changed = [key for key in sorted({*known, *found} - unreached.keys()) if known.get(key) != found.get(key)]
    for key in changed:
        print(f"{name}: {key}: {known.get(key, 'absent')} -> {found.get(key, 'absent')}")
    print(f"{name}: {len(found)} lines, {len(changed)} changed, {len(unreached)} not compared: no repository reached")
    return int(bool(changed))


def _unreached(known: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return the lines of what cannot be made here: a pin, or a report, without any line today."""
    subjects = {_subject(key) for key in found}
    return {key: value for key, value in known.items() if _subject(key) not in subjects}


def _subject(key: str) -> str:
    """Return the overlay and its source, or the report and its overlay, with which a line begins."""
    return " ".join(key.split()[:2])


def _read(name: str) -> dict[str, str]:
    file = CORPUS / f"{name}.tsv"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return {key: value for key, _, value in (line.partition("\t") for line in lines)}


if __name__ == "__main__":
    sys.exit(main())
