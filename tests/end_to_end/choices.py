"""Choices: indexes that have a patched pair, upstream's releases or both, and what an installer takes from them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from npu_overlays.wheels.explanation import explanations
from support.environment import Environment
from support.venvs import Venv
from support.wheels import write_wheel

VERSION, OURS, NEWER = "1.2.3", "1.2.3+npu.1.g0123456", "1.3.0"
REQUIREMENTS = {"consumer": "lib>=1.0", "exact": f"lib=={VERSION}"}
CONSTRAINTS = f"lib-npu=={OURS}\nlib=={OURS}\n"
# How the indexes are given to an installer: first and second, by their folders.
ARRANGEMENTS: dict[str, tuple[str, ...]] = {
    "ours": ("alone",),
    "ours, theirs": ("ours", "theirs"),
    "theirs, ours": ("theirs", "ours"),
    "merged": ("merged",),
}
ASKED = {"lib-npu consumer": ("lib-npu",), "consumer": ()}


@dataclass(frozen=True, kw_only=True)
class IndexChoice:
    """What is asked for, where.

    Args:
        arrangement: of the indexes.
        asked: whether the patched distribution is named, by the words of the table.
        consumer: which distribution that requires lib is named.
        constrained: whether the constraints are given.
        before: whether upstream's copy is there already.
    """

    arrangement: str
    asked: str
    consumer: str
    constrained: bool
    before: bool

    @classmethod
    def of(cls, key: tuple[str, str, str], *, constrained: bool, before: bool) -> IndexChoice:
        """Return a case of a row of the table."""
        asked, consumer, arrangement = key
        return cls(arrangement=arrangement, asked=asked, consumer=consumer, constrained=constrained, before=before)


def cases(arrangement: str) -> Iterable[IndexChoice]:
    """Return all cases of an arrangement."""
    for asked, consumer, constrained, before in product(ASKED, REQUIREMENTS, (False, True), (False, True)):
        yield IndexChoice.of((asked, consumer, arrangement), constrained=constrained, before=before)


def fill_market(folder: Path) -> None:
    """Write the wheels, and with the command the indexes of them."""
    pair, upstream, consumers = (folder / name for name in ("pair", "upstream", "consumers"))
    write_wheel(pair, "lib_npu", OURS, {"lib/__init__.py": b"ours\n"}, metadata=f"Requires-Dist: lib=={OURS}\n")
    companion = explanations("lib", OURS, "lib-npu", ["lib/__init__.py"])
    write_wheel(pair, "lib", OURS, companion)
    for version in (VERSION, NEWER):
        write_wheel(upstream, "lib", version, {"lib/__init__.py": f"upstream's {version}\n".encode()})
    for name, requirement in REQUIREMENTS.items():
        write_wheel(consumers, name, "1.0", {f"{name}.py": b""}, metadata=f"Requires-Dist: {requirement}\n")
    environment = Environment(folder=folder)
    for name, folders in {
        "alone": (pair, consumers),
        "ours": (pair,),
        "theirs": (upstream, consumers),
        "merged": (pair, upstream, consumers),
    }.items():
        environment.ok("index", *folders, "--out", folder / "site" / name)


def choose(case: IndexChoice, venv: Venv, market: Path, url: str) -> str:
    """Let an installer choose in an empty environment, and return what is there afterwards."""
    if case.before:
        with zipfile.ZipFile(market / "upstream" / f"lib-{VERSION}-py3-none-any.whl") as archive:
            archive.extractall(venv.site)
    constraints = venv.folder / "constraints.txt"
    constraints.write_text(CONSTRAINTS)
    options = ("-c", constraints) if case.constrained else ()
    first, *others = (f"{url}{name}/" for name in ARRANGEMENTS[case.arrangement])
    asked = (*ASKED[case.asked], case.consumer)
    done = venv.ask("install", *_indexes(venv, first, others), *options, *asked)
    assert "Traceback" not in done.err, done.err
    return "refused" if done.code else found(venv.site)


def _indexes(venv: Venv, first: str, others: list[str]) -> list[str]:
    """Return the options that name indexes; with uv, the default one is the last to be asked."""
    if not venv.is_uv:
        return [f"--index-url={first}", *(f"--extra-index-url={other}" for other in others)]
    *named, default = first, *others
    return [*(f"--index={one}" for one in named), f"--default-index={default}"]


def found(site: Path) -> str:
    """Return what is there: whose lib, or what is wrong."""
    names = sorted(path.name.removesuffix(".dist-info") for path in site.glob("lib*.dist-info"))
    module = site / "lib" / "__init__.py"
    text = module.read_text().strip() if module.is_file() else ""
    known = {
        (f"lib-{OURS}", f"lib_npu-{OURS}"): {"ours": "ours"},
        (f"lib-{OURS}",): {"": "companion"},
        (f"lib-{VERSION}",): {f"upstream's {VERSION}": "upstream's"},
        (f"lib-{NEWER}",): {f"upstream's {NEWER}": "newer"},
    }
    return known.get(tuple(names), {}).get(text, f"mixed: {names} {text!r}")


def row(key: tuple[str, str, str], cells: Iterable[str]) -> str:
    """Return a row of the table: what is asked for, what that requires, the indexes, and what is chosen."""
    asked, consumer, arrangement = key
    return f"| {' | '.join([f'`{asked}`', f'`{REQUIREMENTS[consumer]}`', arrangement, *cells])} |"


def told(chosen: dict[bool, str]) -> str:
    """Return a cell: what is chosen in an empty environment, and if it is not the same, where upstream's copy was."""
    return chosen[False] if chosen[False] == chosen[True] else f"{chosen[False]} / {chosen[True]}"
