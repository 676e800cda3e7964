"""Bills of materials: CycloneDX's own validator takes them, and they say what METADATA and the summary say."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from npu_overlays.wheels.bill_of_materials import bill, facts
from npu_summary.changes import Changes, parse
from support.patched import Patched
from support.wheels import members, metadata

METADATA = """\
Metadata-Version: 2.4
Name: demo-npu
Version: 1.0+npu.1.g0123456
Summary: Größer (patched for NPU)
License-Expression: Apache-2.0 OR MIT
Requires-Dist: Num_Py<2,>=1.0
Requires-Dist: numpy>=1.21; python_version >= "3.12"
Requires-Dist: fastmath; extra == "fast"
Requires-Dist: demo-npu[fast]; extra == "all"
Requires-Dist: demo==1.0+npu.1.g0123456

# demo
Requires-Dist: of-the-description
"""


def refused(content: bytes) -> str:
    """Return why CycloneDX's validator refuses a bill, less the schema that it quotes; empty where it takes it."""
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(content.decode())
    return str(error).partition("\n")[0] if error else ""


def of(wheel: Path) -> bytes:
    name = metadata(wheel)["Name"]
    (content,) = (one for path, one in members(wheel).items() if path.endswith(f".dist-info/sboms/{name}.cdx.json"))
    return content


def read(wheel: Path) -> Any:
    return json.loads(of(wheel))


@pytest.fixture
def verl(patched: Patched) -> Any:
    """Return the bill of the patched verl."""
    return read(patched.wheel("verl_npu"))


def test_every_bill_is_taken_by_another_validator(patched: Patched) -> None:
    wheels = sorted(patched.wheels.glob("*+npu*.whl"))
    assert len(wheels) == 4
    assert {wheel.name: refused(of(wheel)) for wheel in wheels} == {wheel.name: "" for wheel in wheels}


def test_the_validator_refuses_what_is_none(patched: Patched) -> None:
    whole = of(patched.wheel("verl_npu"))
    for old, new in ((b'"unofficial"', b'"mine"'), (b'"urn:uuid:', b'"'), (b'"pedigree"', b'"pedigrees"')):
        assert old in whole
        assert refused(whole.replace(old, new))


def test_it_names_the_wheel_and_upstream_by_purl_and_commit(patched: Patched, verl: Any) -> None:
    own = verl["metadata"]["component"]
    version = patched.version("verl_npu")
    assert (own["name"], own["version"]) == ("verl-npu", version)
    assert PackageURL.from_string(own["purl"]).to_dict(encode=False) | {"qualifiers": None} == {
        "type": "pypi",
        "namespace": None,
        "name": "verl-npu",
        "version": version,
        "qualifiers": None,
        "subpath": None,
    }
    (upstream,) = (one for one in verl["components"] if one["bom-ref"] == "upstream")
    purl = PackageURL.from_string(upstream["purl"])
    commit = own["pedigree"]["commits"][0]["uid"]
    assert (purl.name, purl.version) == ("verl", "0.6.1")
    assert dict(purl.qualifiers)["vcs_url"].endswith(f"@{commit}")
    assert commit.startswith(version[-7:])
    assert own["pedigree"]["ancestors"] == [{key: value for key, value in upstream.items() if key != "bom-ref"}]


def test_every_change_is_a_patch_with_its_reason(patched: Patched) -> None:
    wheel = patched.wheel("transformers_npu")
    patches = read(wheel)["metadata"]["component"]["pedigree"]["patches"]
    said = {issue["name"]: issue for issue in chain.from_iterable(one["resolves"] for one in patches)}
    path = "src/transformers/models/model.py"
    assert said[f"replaced {path}:rotary"]["description"] == "One kernel instead of four."
    assert said[f"replaced {path}:rotary"]["references"] == ["https://example.invalid/pull/7"]
    assert said[f"wrapped {path}:fail"]["source"]["name"].startswith("transformers@")
    record = parse(members(wheel)["transformers_npu_summary/changes.json"])
    expected = 0
    for file in record["files"]:
        expected += len(file["module_changes"])
        for entry in file["class_changes"]:
            expected += len(entry["changes"]) + ("why" in entry)
    assert len(patches) == expected
    assert {one["diff"]["url"] for one in patches} == {"transformers_npu_summary/changes.diff"}


def record(patched: Patched, **forwarded: str) -> Changes:
    value = parse(members(patched.wheel("verl_npu"))["verl_npu_summary/changes.json"])
    value["files"][0]["module_changes"][0].update(forwarded)  # type: ignore[typeddict-item]  # names are those of a change
    return value


@pytest.mark.parametrize(
    ("forwarded", "kind", "said"),
    [
        (
            "https://example.invalid/u/commit/0123abc",
            "backport",
            {"references": ["https://example.invalid/u/commit/0123abc"]},
        ),
        ("https://example.invalid/u/pull/1", "unofficial", {"references": ["https://example.invalid/u/pull/1"]}),
        ("said on the list", "unofficial", {"id": "said on the list"}),
        ("https://example.invalid/größer", "unofficial", {"references": ["https://example.invalid/gr%C3%B6%C3%9Fer"]}),
        ("", "unofficial", {}),
    ],
)
def test_what_was_forwarded_is_referred_to(patched: Patched, forwarded: str, kind: str, said: dict[str, Any]) -> None:
    content = bill(facts(METADATA), record(patched, forwarded=forwarded, drop_when="upstream has it"))
    patch = json.loads(content)["metadata"]["component"]["pedigree"]["patches"][0]
    (issue,) = patch["resolves"]
    assert patch["type"] == kind
    assert {key: value for key, value in issue.items() if key in ("references", "id")} == said
    assert issue["description"].endswith(" Drop it when: upstream has it")
    assert refused(content) == ""


def test_requirements_are_components_without_versions() -> None:
    said = json.loads(bill(facts(METADATA)))
    components = []
    for one in said["components"]:
        (asked,) = one["properties"]
        components.append((one["name"], one["scope"], asked["value"]))
    assert components == [
        ("demo", "required", "demo==1.0+npu.1.g0123456"),
        ("fastmath", "optional", 'fastmath; extra == "fast"'),
        ("num-py", "required", "Num_Py<2,>=1.0"),
        ("numpy", "required", 'numpy>=1.21; python_version >= "3.12"'),
    ]
    assert not any("version" in one for one in said["components"])
    assert said["dependencies"][0]["dependsOn"] == ["pkg:pypi/demo", "pkg:pypi/num-py", "pkg:pypi/numpy"]
    assert said["metadata"]["component"]["licenses"] == [{"expression": "Apache-2.0 OR MIT"}]
    assert "pedigree" not in said["metadata"]["component"]


def test_a_licence_in_words_is_named_in_them() -> None:
    text = METADATA.replace("License-Expression: Apache-2.0 OR MIT", "License: Free\n        for all")
    content = bill(facts(text))
    assert json.loads(content)["metadata"]["component"]["licenses"] == [{"license": {"name": "Free for all"}}]
    assert refused(content) == ""
    assert "licenses" not in json.loads(bill(facts(text.replace("License:", "Platform:"))))["metadata"]["component"]


def test_an_archive_is_known_by_its_digest_and_a_commit_nobody_confirmed_is_no_commit(patched: Patched) -> None:
    value = record(patched)
    value["upstream"]["source"] = {"kind": "archive", "archive": "verl-0.6.1-py3-none-any.whl", "sha256": "ab" * 32}
    value["upstream"]["compared"] = False
    content = bill(facts(METADATA), value)
    said = json.loads(content)
    (upstream,) = (one for one in said["components"] if one["bom-ref"] == "upstream")
    assert upstream["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert upstream["purl"] == "pkg:pypi/verl@0.6.1?file_name=verl-0.6.1-py3-none-any.whl"
    assert "commits" not in said["metadata"]["component"]["pedigree"]
    assert "unconfirmed" in said["metadata"]["component"]["pedigree"]["notes"]
    assert refused(content) == ""


def test_its_number_follows_from_what_it_says() -> None:
    one, same = (json.loads(bill(facts(METADATA)))["serialNumber"] for _ in range(2))
    other = json.loads(bill(facts(METADATA.replace("<2", "<3"))))["serialNumber"]
    assert one == same != other
