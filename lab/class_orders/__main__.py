"""``python -m class_orders PACKAGE``: hold the order of its classes against Python's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from class_orders import compared


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts and what differs; returns 1 where something does."""
    parser = argparse.ArgumentParser(prog="class_orders", description=__doc__)
    parser.add_argument("package", help="what is imported, as sphinx")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="the interpreter that has it")
    parser.add_argument("--stubs", action="store_true", help="make up modules that are not installed")
    options = parser.parse_args(arguments)
    found = compared(options.python, options.package, stubs=options.stubs)
    for name, (ours, theirs) in found.differing.items():
        print(f"{name}\n  model:  {', '.join(ours)}\n  Python: {', '.join(theirs)}")  # noqa: T201
    counts = ", ".join(f"{number} {kind}" for kind, number in sorted(found.counts.items()))
    print(f"{options.package}: {counts}; {len(found.differing)} differ; {found.failed} modules fail here")  # noqa: T201
    return int(bool(found.differing))


if __name__ == "__main__":
    raise SystemExit(main())
