"""Report: what pytest wrote of the cases of whole models → their figures, model by model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from parity.figures import Half, Parity

_MODULE = "test_models"
_CASE = re.compile(r"test_(\w+)\[(\w+)-(\w+)-.*\]")
_CPU, _FULL, _HALF = "on_cpu_outputs", "on_npu_fp32", "on_npu_half"


class Incomplete(Exception):  # noqa: N818  # what is missing is no error of this code
    """Some case was not measured, or is not within its limit; the message names the first of them."""


@dataclass(frozen=True, kw_only=True)
class _Case:
    test: str
    family: str
    dtype: str
    measured: dict[str, float]


def parities(report: Path) -> dict[str, Parity]:
    """Return how far each model is from upstream's.

    Args:
        report: what pytest wrote of `cases/test_models.py`, and maybe of others, as JUnit's XML.

    Raises:
        Incomplete: a case failed, was skipped, or left no figure.
    """
    found: defaultdict[str, list[_Case]] = defaultdict(list)
    for case in _cases(report):
        found[case.family].append(case)
    if not found:
        raise Incomplete(f"{report}: there is no case of a model in it")
    return {family: _parity(family, cases) for family, cases in found.items()}


def _cases(report: Path) -> Iterator[_Case]:
    for element in ElementTree.parse(report).iter("testcase"):  # noqa: S314  # written by pytest a moment ago
        name = element.get("name", "")
        # What is expected to fail, as where a torch_npu lacks an operator, is written as skipped too.
        outcomes = {one.tag for one in element if one.get("type") != "pytest.xfail"}
        if bad := {"failure", "error", "skipped"} & outcomes:
            raise Incomplete(f"{name}: {bad.pop()}")
        is_model = element.get("classname", "").rpartition(".")[2] == _MODULE
        if is_model and (case := _CASE.fullmatch(name)):
            measured = {one.attrib["name"]: float(one.attrib["value"]) for one in element.iter("property")}
            yield _Case(test=case[1], family=case[2], dtype=case[3], measured=measured)


def _parity(family: str, cases: list[_Case]) -> Parity:
    full, halves, on_cpu = ([case for case in cases if case.test.startswith(one)] for one in (_FULL, _HALF, _CPU))
    if not (full and halves and on_cpu):
        raise Incomplete(f"{family}: of it were seen {', '.join(sorted({case.test for case in cases}))} alone")
    try:
        return Parity(
            cases=len(on_cpu),
            full=max(case.measured["error"] for case in full),
            halves={case.dtype: _half(case.measured) for case in halves},
        )
    except KeyError as error:
        raise Incomplete(f"{family}: a case of it left no figure {error}") from error


def _half(measured: dict[str, float]) -> Half:
    parts = [
        Half(error=measured[f"{what} error"], upstream=measured[f"{what} error of upstream"])
        for what in ("output", "gradients")
    ]
    return max(parts, key=lambda one: one.ratio)
