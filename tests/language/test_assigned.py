"""What upstream goes on assigning at run time: a list that layers and pins state, and the summary shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.errors import ConfigError
from npu_overlays.overlay.overlay_folders import find_overlay
from support.environment import Environment

from .overlays import layer, load, mistakes, write

BELOW = """
[[assigned]]
when = "pkg is imported"
what = ["torch.nested:nested_tensor", "vllm.*:Worker.load_*"]
why = "torch is no part of this wheel."
until = "2.0"
[[assigned]]
when = "a model is loaded"
what = ["trl:Model.state_dict"]
why = "trl is no part of this wheel."
"""
OWN = """
[[tool.overlay.assigned]]
when = "a server is started"
what = ["sglang:app"]
why = "It is a choice."
"""


def test_layers_and_pins_list_it_for_the_versions_they_say(tmp_path: Path) -> None:
    layer(tmp_path, {}, config=BELOW)
    name = write(tmp_path, {}, config=OWN)
    old, new = (load(tmp_path, name, version) for version in ("1.0", "2.0"))
    assert [(one.layer, one.assigned.when) for one in old.assigned] == [
        ("pkg", "pkg is imported"),
        ("pkg", "a model is loaded"),
        (name, "a server is started"),
    ]
    assert old.assigned[0].assigned.what == ("torch.nested:nested_tensor", "vllm.*:Worker.load_*")
    assert new.assigned == old.assigned[1:]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    wrong = """
[[tool.overlay.assigned]]
when = " "
what = ["torch", "torch:a b", "torch:", "a:b:c", "a:f", "a:f"]
[[tool.overlay.assigned]]
when = "w"
what = []
why = "w"
who = "w"
since = "no"
"""
    name = write(tmp_path, {}, config=wrong)
    with pytest.raises(ConfigError) as caught:
        find_overlay(tmp_path, name)
    file = tmp_path / name / "pyproject.toml"
    first = file.read_text("utf-8").splitlines().index("[[tool.overlay.assigned]]") + 1
    fix = 'write "package.module:Class.method"; * stands for any characters'
    assert [one.removeprefix(f"{file}:") for one in mistakes(caught.value)] == [
        f"{first + line}: tool.overlay.assigned{mistake}"
        for line, mistake in (
            (1, '[1].when: is empty; write when = "an engine is started", for example'),
            (0, '[1].why: missing; write why = "…": why it is left so, in one sentence for a user of the wheel'),
            (2, f"[1].what: `torch` is no module with a symbol of it; {fix}"),
            (2, f"[1].what: `torch:a b` is no module with a symbol of it; {fix}"),
            (2, f"[1].what: `torch:` is no module with a symbol of it; {fix}"),
            (2, f"[1].what: `a:b:c` is no module with a symbol of it; {fix}"),
            (2, "[1].what: names `a:f` twice; name it once"),
            (5, '[2].what: is empty; write what = ["…"], with at least one text'),
            (8, '[2].since: `no` is not a version; write since = "0.6.0", for example'),
            (7, "[2].who: unknown key; write one of since, until, what, when, why, or delete it"),
        )
    ]


def test_show_prints_it_as_text_and_as_json(tmp_path: Path) -> None:
    layer(tmp_path / "overlays", {}, config=BELOW.replace('until = "2.0"', ""))
    name = write(tmp_path / "overlays", {}, config=OWN)
    environment = Environment(folder=tmp_path)
    done = environment.ok("show", name, "--overlays", tmp_path / "overlays")
    _, _, listed = done.out.partition("assigned at run time by upstream's own code, in other packages\n")
    assert listed.startswith(
        "  when pkg is imported  [pkg]\n    torch.nested:nested_tensor\n    vllm.*:Worker.load_*\n"
        "            torch is no part of this wheel.\n"
    )
    values = environment.ok("show", name, "--json", "--overlays", tmp_path / "overlays").json()
    assert values["assigned"][2] == {
        "when": "a server is started",
        "what": ["sglang:app"],
        "why": "It is a choice.",
        "overlay": name,
        "since": "",
        "until": "",
    }
