"""The YAML summary, as another reader reads it."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npu_summary.yaml import render, scalar

from .samples import Json, change, chinese, distribution, file, klass, transformers, typed, verl

yaml: Any = importlib.import_module("yaml")  # has no type hints of its own

ANY_TEXT = st.text(st.characters(exclude_categories=()))
NUMBER_LIKE = st.text("0123456789abcdefxoABCDEFinINtruyes_.+-:~", max_size=12)

FLASH = """\
          - name: npu_flash_attention
            diff:
              class_changes:
                - action: added
                  name: IndexFirstAxis
                  changes:
                    - action: added
                      kind: method
                      name: pad_input
                - action: added
                  name: IndexPutFirstAxis
              module_changes:
                - action: added
                  kind: method
                  name: unpad_input
                - action: added
                  kind: method
                  name: _prepare_from_posids
"""


def test_known_configuration_is_reproduced_to_the_last_character() -> None:
    classes = [
        klass("IndexFirstAxis", [change("added", "method", "pad_input")], "added"),
        klass("IndexPutFirstAxis", [], "added"),
    ]
    module = [change("added", "method", "unpad_input"), change("added", "method", "_prepare_from_posids")]
    path = "src/transformers/integrations/npu_flash_attention.py"
    assert render(typed(distribution("transformers", [file(path, classes, module, "added")]))) == (
        "patches:\n"
        "  - repo: transformers\n"
        "    current_rev: 8365f70e9259c21058bf18f876006f945d2a99de\n"
        "    versions:\n"
        "      - rev: 8365f70e9259c21058bf18f876006f945d2a99de\n"
        "        dir: transformers@8365f70\n"
        "        files:\n" + FLASH
    )


def expected_change(entry: Json) -> Json:
    return {key: entry[key] for key in ("action", "kind", "name")}


def expected_file(entry: Json) -> Json:
    classes: list[Json] = []
    for one in entry["class_changes"]:
        members = [expected_change(inner) for inner in one["changes"]]
        classes.append({"action": one["action"], "name": one["name"], **({"changes": members} if members else {})})
    module = [expected_change(one) for one in entry["module_changes"]]
    lists = {"class_changes": classes, "module_changes": module}
    name = entry["path"].rpartition("/")[2].removesuffix(".py")
    return {"name": name, "diff": {key: value for key, value in lists.items() if value}}


def test_every_change_of_both_distributions_arrives() -> None:
    read = yaml.safe_load(render(typed(verl(), transformers())))
    assert read == {"patches": [expected_project(verl()), expected_project(transformers())]}


def expected_project(sample: Json) -> Json:
    commit = sample["upstream"]["commit"]
    files = list(map(expected_file, sample["files"]))
    versions = [{"rev": commit, "dir": sample["overlay"]["name"], "files": files}]
    return {"repo": sample["upstream"]["project"], "current_rev": commit, "versions": versions}


def test_other_files_keep_their_extension_and_wrapped_reads_replaced() -> None:
    changes = [change("replaced", "method", "f", operation="wrapped"), change("updated", "text", "trainer.device")]
    sample = distribution("verl", [file("recipe/dapo_trainer.yaml", [], changes), file("verl/a.json", [], [], "added")])
    first, second = yaml.safe_load(render(typed(sample)))["patches"][0]["versions"][0]["files"]
    assert first["name"] == "dapo_trainer.yaml"
    assert [one["action"] for one in first["diff"]["module_changes"]] == ["replaced", "updated"]
    assert second["diff"] == {"module_changes": [{"action": "added", "kind": "file", "name": "a.json"}]}


def test_reasons_are_added_on_request_only() -> None:
    inner = change("replaced", "method", "f", why="faster: 2×", forwarded="#1", drop_when="")
    sample = distribution("verl", [file("verl/x.py", [klass("A", [inner], why="whole")], [inner])])
    diff = yaml.safe_load(render(typed(sample), why=True))["patches"][0]["versions"][0]["files"][0]["diff"]
    reasoned = {"action": "replaced", "kind": "method", "name": "f", "why": "faster: 2×", "forwarded": "#1"}
    assert diff["module_changes"] == [reasoned]
    assert diff["class_changes"] == [{"action": "updated", "name": "A", "why": "whole", "changes": [reasoned]}]
    assert "why" not in render(typed(sample))


def test_several_reasons_of_a_change_are_joined() -> None:
    also = [{"operation": "edited", "why": "second", "forwarded": "#2", "drop_when": "", "overlay": "o"}]
    inner = change("replaced", "order", "__order__", why="first", also=also)
    sample = distribution("verl", [file("verl/x.py", [], [inner])])
    diff = yaml.safe_load(render(typed(sample), why=True))["patches"][0]["versions"][0]["files"][0]["diff"]
    told = {"action": "replaced", "kind": "order", "name": "__order__", "why": "first; second", "forwarded": "#2"}
    assert diff == {"module_changes": [told]}


def test_operations_not_applied_are_comments_that_change_nothing_read() -> None:
    missing = [{"path": "recipe/x.py", "symbol": "f\ng", "operation": "wrapped", "why": ""}]
    with_missing, without = (render(typed(distribution("verl", [], entries))) for entries in (missing, []))
    assert '# not applied, the upstream source lacks the file: wrapped "recipe/x.py:f\\ng"\n' in with_missing
    assert yaml.safe_load(with_missing) == yaml.safe_load(without)


def test_nothing_to_show_is_still_the_schema() -> None:
    assert yaml.safe_load(render([])) == {"patches": []}
    assert yaml.safe_load(render(typed(distribution("verl", []))))["patches"][0]["versions"][0]["files"] == []


@given(ANY_TEXT | NUMBER_LIKE)
@example("1e5")
@example("0xacdf")
@example("12345678")
@example("8365f70e9259c21058bf18f876006f945d2a99de")
@example("No")
@example("~")
@example("\ufeff\x85\u2028\U0001f680\ud800\x7f\xa0")
def test_any_string_is_read_back_as_that_string(value: str) -> None:
    assert yaml.safe_load(scalar(value)) == value
    assert yaml.safe_load(f"- key: {scalar(value)}\n") == [{"key": value}]
    assert "\n" not in scalar(value)


@given(ANY_TEXT)
def test_narrow_output_encodings_leave_valid_yaml(value: str) -> None:
    for encoding in ("ascii", "cp1252", "gbk"):
        printed = scalar(value).encode(encoding, "backslashreplace").decode(encoding)
        assert yaml.safe_load(printed) == value


@pytest.mark.slow
@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT), min_size=1), ANY_TEXT.filter(lambda text: "/" not in text))
def test_any_names_are_read_back_from_a_whole_document(names: list[tuple[str, str, str]], stem: str) -> None:
    changes = [change(*name) for name in names if name[0] not in ("wrapped", "edited")]
    sample = distribution("verl", [file(f"a/{stem}.py", [klass(stem, changes)], changes)])
    (read,) = yaml.safe_load(render(typed(sample)))["patches"][0]["versions"][0]["files"]
    assert read == expected_file(sample["files"][0])


def test_chinese_reasons_stay_readable() -> None:
    assert "昇腾上更快" in render(typed(chinese()), why=True)
