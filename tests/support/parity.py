"""Parity: a page of `make parity` or `make families` in, what it says of each model out."""

from __future__ import annotations

import re

from parity.figures import Half, Operators, Parity, PinFigures

_HALVES = ("bfloat16", "float16", "autocast")

Table = dict[str, dict[str, str]]


def read_families(text: str) -> dict[str, tuple[str, ...]]:
    """Return what is fused in each family of a page of `make families`."""
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|", text, re.MULTILINE)
    fused = {name: tuple(re.split(r", |、", kinds)) for name, kinds in rows}
    (plain,) = re.findall(r"^(`.+`)[.。]$", text, re.MULTILINE)
    return fused | dict.fromkeys(re.findall(r"`(.+?)`", plain), ())


def read_page(text: str) -> list[PinFigures]:
    """Return the figures of a page, rounded as it gives them."""
    first, *others = (_rows(block) for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE))
    full, *halves, operators, waits = map(_by_version, others)
    return [
        PinFigures(
            overlay=overlay.strip("`"),
            version=version,
            torch_npu=torch_npu,
            parity={
                model: Parity(
                    cases=int(cases) if not number else 0,
                    full=float(error),
                    halves={
                        dtype: _half(table[version][model])
                        for dtype, table in zip(_HALVES, halves, strict=True)
                        if model in table[version]
                    },
                )
                for number, (model, error) in enumerate(full[version].items())
            },
            operators={
                model: _operators(cell, waits[version].get(model, "0 → 0"))
                for model, cell in operators[version].items()
            },
        )
        for version, overlay, torch_npu, _, cases, _ in first[1:]
    ]


def _rows(block: str) -> list[list[str]]:
    rows = [re.split(r" *\| *", line.strip("| ")) for line in block.splitlines()]
    return [rows[0], *rows[2:]]


def _by_version(rows: list[list[str]]) -> Table:
    """Return the cells of each version by model, without the empty ones."""
    (_, *versions), *others = rows
    table: Table = {}
    for column, version in enumerate(versions, 1):
        table[version] = {row[0].strip("`"): row[column] for row in others if row[column]}
    return table


def _half(cell: str) -> Half:
    error, ratio = map(float, re.findall(r"[\d.e+-]+", cell))
    return Half(error=error, upstream=error / ratio)


def _operators(cell: str, waits: str) -> Operators:
    upstream, ours, fused = map(float, re.findall(r"[\d.]+", cell))
    first, second = map(int, waits.split(" → "))
    return Operators(upstream=upstream, ours=ours, fused=fused, waits=(first, second))
