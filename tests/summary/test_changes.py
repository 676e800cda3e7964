"""Reading changes.json, and its schema: what is accepted is exactly what can be shown."""

from __future__ import annotations

import copy
import importlib
import json
import zipfile
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_overlays.changes.module_comparison import ChangeAction, ChangeKind
from npu_overlays.overlay.operations import ACTIONS
from npu_summary import changes, jsontext, layout, yaml
from support.patched import Patched

from .samples import Json, change, chinese, distribution, file, klass, transformers, typed, verl

jsonschema: Any = importlib.import_module("jsonschema")  # has no type hints of its own

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/summary.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LEDGER = {"line": None, "operation": "added", "why": "w", "forwarded": "", "drop_when": "", "overlay": "verl@1"}
MISSING = [{"path": "recipe/x.py", "symbol": "", "operation": "edit", "why": "w"}]
# To a JSON Schema 1.0 is an integer.
FRACTIONS = st.floats().filter(lambda number: not number.is_integer())
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FRACTIONS | st.text(),
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
    sample["not_built"] = ["verl/*.so"]
    sample["overlay"]["layers"] = ["verl"]
    sample["assigned"] = [{"when": "vLLM is started", "what": ["vllm.x:C.f"], "why": "w", "overlay": "verl"}]
    return copy.deepcopy(sample)


def paths(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the way to every node below the top."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[tuple[str | int, ...]] = []
    for key, inner in items:
        found += [(*at, key), *paths(inner, (*at, key))]
    return found


def parent_of(value: Any, way: tuple[str | int, ...]) -> Any:
    for key in way[:-1]:
        value = value[key]
    return value


def shown(data: Json) -> None:
    for why in (False, True):
        layout.render(typed(data), why=why)
        yaml.render(typed(data), why=why)
    jsontext.render(typed(data))


def fields_of_types(kind: str, at: str = "") -> dict[str, str]:
    """Return the type of each field by its way from the top, with a ``?`` where it may be absent."""
    if kind.startswith("list["):
        return fields_of_types(kind[5:-1], f"{at}[]")
    if not (described := vars(changes).get(kind)):
        return {at: kind}
    found: dict[str, str] = {}
    for name, said in chain.from_iterable(one.__annotations__.items() for one in described.__mro__[:-1]):
        optional = said.startswith("NotRequired[")
        found |= fields_of_types(said[12:-1] if optional else said, f"{at}.{name}{'?' if optional else ''}")
    return found


def fields_of_schema(described: Json, at: str = "") -> dict[str, str]:
    """Return the same of the schema."""
    if "$ref" in described:
        _, *way = described["$ref"].split("/")
        return fields_of_schema(parent_of(SCHEMA, (*way, "")), at)
    if variants := described.get("oneOf"):
        found = [fields_of_schema(one, at) for one in variants]
        if {at: "None"} in found:
            return {at: " | ".join(one[at] for one in found)}
        everywhere = set.intersection(*map(set, found))
        pairs = chain.from_iterable(one.items() for one in found)
        return {name if name in everywhere else f"{name}?": kind for name, kind in pairs}
    if described.get("type") == "array":
        return fields_of_schema(described["items"], f"{at}[]")
    if described.get("type") != "object":
        return {at: type_of(described)}
    inside: dict[str, str] = {}
    for name, field in described["properties"].items():
        inside |= fields_of_schema(field, f"{at}.{name}{'' if name in described['required'] else '?'}")
    return inside


def type_of(described: Json) -> str:
    names = {"string": "str", "integer": "int", "boolean": "bool", "null": "None"}
    if "const" in described:
        return type(described["const"]).__name__
    listed = described["type"] if isinstance(described["type"], list) else [described["type"]]
    return " | ".join(names[one] for one in listed)


def test_the_schema_has_the_fields_of_the_types() -> None:
    assert fields_of_schema(SCHEMA["$defs"]["changes"]) == fields_of_types("Changes")


def test_the_schema_has_the_words_of_the_tool() -> None:
    fields = SCHEMA["$defs"]["change"]["properties"]
    assert set(fields["action"]["enum"]) == set(get_args(ChangeAction))
    assert set(fields["kind"]["enum"]) == set(get_args(ChangeKind))
    assert set(SCHEMA["$defs"]["reason"]["properties"]["operation"]["enum"]) == {
        *ACTIONS,
        "import",
        "patch",
        "edit",
        "file",
    }


def test_what_a_wheel_holds_fits_the_schema(patched: Patched) -> None:
    for name in ("verl_npu", "transformers_npu"):
        with zipfile.ZipFile(patched.wheel(name)) as wheel:
            record = json.loads(wheel.read(f"{name}_summary/changes.json"))
            manifest = wheel.read(f"{name}_summary/manifest.json")
        VALIDATOR.validate(record)
        assert changes.parse_manifest(manifest)["distribution"] == record["distribution"]


def test_schema_is_a_valid_schema_and_documents_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    definitions = [definition.get("properties", {}) for definition in SCHEMA["$defs"].values()]
    fields = list(chain.from_iterable(one.items() for one in definitions))
    assert len(fields) > 33
    assert {name for name, field in fields if not field.get("description")} <= {"kind", "schema"}


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
    optional = (of_whole_class and way[-1] in LEDGER) or way[-1] in {"also", "assigned"}
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
