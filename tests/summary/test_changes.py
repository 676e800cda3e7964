"""Reading changes.json, and its schema: what is accepted is exactly what can be shown."""

from __future__ import annotations

import copy
import importlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_summary import changes, jsontext, layout, yaml

from .conftest import SOURCE
from .samples import Json, change, chinese, distribution, file, klass, transformers, typed, verl

jsonschema: Any = importlib.import_module("jsonschema")  # has no type hints of its own

SCHEMA = json.loads((SOURCE / "summary.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LEDGER = {"line": None, "operation": "added", "why": "w", "forwarded": "", "drop_when": "", "overlay": "verl@1"}
MISSING = [{"path": "recipe/x.py", "symbol": "", "operation": "edit", "why": "w"}]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def full() -> Json:
    """Return a sample in which every field of the schema occurs."""
    also = [{name: LEDGER[name] for name in ("operation", "why", "forwarded", "drop_when", "overlay")}]
    inner = change("replaced", "method", "f", also=also)
    classes = [klass("A", [inner]), klass("B", [], "added", **LEDGER, also=also)]
    sample = distribution("verl", [file("verl/x.py", classes, [change("added", "class", "B")])], MISSING)
    sample["upstream"]["source"] = {"kind": "archive", "archive": "verl-1.0-py3-none-any.whl", "sha256": "a" * 64}
    sample["upstream"]["missing"] = ["recipe/x.py"]
    return copy.deepcopy(sample)


def paths(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the way to every node below the top."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way for key, inner in items for way in ((*at, key), *paths(inner, (*at, key)))]


def parent_of(value: Any, way: tuple[str | int, ...]) -> Any:
    for key in way[:-1]:
        value = value[key]
    return value


def shown(data: Json) -> None:
    for why in (False, True):
        layout.render(typed(data), why=why)
        yaml.render(typed(data), why=why)
    jsontext.render(typed(data))


def test_schema_is_a_valid_schema_and_documents_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    fields = [
        (name, field)
        for definition in SCHEMA["$defs"].values()
        for name, field in definition.get("properties", {}).items()
        if name not in ("kind", "schema")
    ]
    assert len(fields) > 30
    assert [name for name, field in fields if not field.get("description")] == []


@pytest.mark.parametrize("sample", [verl(), transformers(), chinese(), full()])
def test_samples_and_their_report_fit_the_schema(sample: Json) -> None:
    VALIDATOR.validate(sample)
    VALIDATOR.validate(json.loads(jsontext.render(typed(sample, transformers()))))


def test_report_holds_every_field_in_plain_ascii() -> None:
    text = jsontext.render(typed(chinese(), transformers()))
    assert text.isascii()
    assert text.endswith("}\n")
    assert json.loads(text) == {"schema": 1, "distributions": [chinese(), transformers()]}


def test_nothing_installed_is_still_a_report() -> None:
    VALIDATOR.validate(json.loads(jsontext.render([])))


@pytest.mark.parametrize("way", paths(full()), ids=lambda way: ".".join(map(str, way)))
def test_schema_notices_each_field_that_goes_missing_or_changes_its_type(way: tuple[str | int, ...]) -> None:
    damaged = full()
    parent_of(damaged, way)[way[-1]] = {"an": "object of no use"}
    assert not VALIDATOR.is_valid(damaged)
    of_whole_class = way[:-1] == ("files", 0, "class_changes", 1)
    optional = (of_whole_class and way[-1] in LEDGER) or way[-1] == "also"
    if isinstance(way[-1], str) and not optional:
        removed = full()
        del parent_of(removed, way)[way[-1]]
        assert not VALIDATOR.is_valid(removed)


def test_fields_the_schema_does_not_know_are_refused_by_it_but_read() -> None:
    newer = {**verl(), "colour": "red"}
    assert not VALIDATOR.is_valid(newer)
    assert changes.parse(json.dumps(newer).encode()) == newer


def test_schema_holds_for_its_own_version_only() -> None:
    assert not VALIDATOR.is_valid({**verl(), "schema": 2})
    assert not VALIDATOR.is_valid({"schema": 2, "distributions": [verl()]})


def test_byte_order_mark_is_no_obstacle() -> None:
    assert changes.parse(b"\xef\xbb\xbf" + json.dumps(verl()).encode()) == verl()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b'{"schema": 1,', "not JSON"),
        (b"\xff\xfe\xfd", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "the file must be an object"),
        (b"{}", "the file has no `schema`"),
        (b'{"schema": 2}', "its schema version is 2, this code reads 1"),
        (b'{"schema": true}', "schema must be an integer"),
        (b'{"schema": 1}', "the file has no `distribution`"),
        (b'{"schema": 1, "distribution": {"name": 3}}', "distribution.name must be a string"),
    ],
)
def test_unreadable_data_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(changes.Unreadable) as caught:
        changes.parse(data)
    assert str(caught.value).startswith(reason)


def test_reason_names_the_place_in_a_list() -> None:
    damaged = full()
    damaged["files"][0]["class_changes"][0]["changes"][0]["why"] = None
    with pytest.raises(
        changes.Unreadable, match=r"^files\[0\]\.class_changes\[0\]\.changes\[0\]\.why must be a string"
    ):
        changes.parse(json.dumps(damaged).encode())


@pytest.mark.parametrize("way", paths(full()), ids=lambda way: ".".join(map(str, way)))
def test_whatever_goes_missing_is_refused_or_not_needed(way: tuple[str | int, ...]) -> None:
    damaged = full()
    del parent_of(damaged, way)[way[-1]]
    assert_refused_or_shown(damaged)


@given(st.sampled_from(paths(full())), ANY_JSON)
def test_whatever_takes_the_place_of_a_field_is_refused_or_shown(way: tuple[str | int, ...], value: Any) -> None:
    damaged = full()
    parent_of(damaged, way)[way[-1]] = value
    assert_refused_or_shown(damaged)


def assert_refused_or_shown(data: Json) -> None:
    try:
        changes.parse(json.dumps(data).encode())
    except changes.Unreadable:
        assert not VALIDATOR.is_valid(data)
    else:
        shown(data)
