"""Wrong names on the command line and in the stacks file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from npu_overlays.overlay.stacks import stacks_folder
from support.overlays import write_stack, write_stacks

from .refusals import build, out, refused
from .sample import Sample


def test_an_unknown_overlay_names_the_nearest(sample: Sample) -> None:
    wrong = sample.lib_name[:-1] + "0"
    done = build(sample, wrong, "nothing@like", sample.app_name)
    refused(sample, done, 3, f"{wrong}: no such overlay", f"did you mean `{sample.lib_name}`?", "nothing@like: no such")


def test_an_unknown_stack_names_those_there_are(sample: Sample) -> None:
    refused(
        sample,
        build(sample, "--stack", "pear"),
        3,
        "pear: no such stack",
        "fix: name one of pair; did you mean `pair`?",
    )


def test_without_stacks_an_overlay_must_be_named(sample: Sample) -> None:
    shutil.rmtree(stacks_folder(sample.overlays))
    done = sample.environment.cli("build", "--overlays", sample.overlays, "--out", out(sample))
    refused(sample, done, 3, "there is no default stack", "name an overlay")


@pytest.mark.parametrize("command", ["list", "matrix", "check", "build"])
def test_a_folder_that_holds_no_overlays_is_said_so(sample: Sample, command: str) -> None:
    def ask(folder: Path) -> str:
        more = ("--all",) if command in ("check", "build") else ()
        done = sample.environment.cli(command, *more, "--overlays", folder)
        assert (done.code, done.out) == (3, "")
        return done.err

    (sample.folder / "empty").mkdir()
    assert "holds no overlay" in ask(sample.folder / "empty")
    assert "there is no such folder of overlays" in ask(sample.folder / "nowhere")
    assert "is a file" in ask(sample.lib_overlay / "LICENSE")
    one = ask(sample.lib_overlay)
    assert "is an overlay, not a folder of overlays" in one
    assert f"fix: name {sample.lib_name} in its folder:\n        npu-overlays {command} " in one
    assert one.endswith(f"--overlays {sample.overlays}\n")


def test_overlays_that_lie_here_are_meant_where_there_is_no_folder_of_them(sample: Sample) -> None:
    """As `init` leaves them in an empty folder."""
    overlays = sample.overlays.rename(sample.folder / "here")
    ask = sample.environment.cli
    assert sample.lib_name in ask("list", cwd=overlays).out
    assert ask("list", cwd=sample.folder).code == ask("list", "--overlays", "nowhere", cwd=overlays).code == 3


def test_an_overlay_is_found_by_its_folder(sample: Sample) -> None:
    for path in (
        f"./overlays/{sample.lib_name}",
        f"overlays/{sample.lib_name}/",
        sample.lib_overlay / "pyproject.toml",
    ):
        done = sample.environment.ok("show", path)
        assert done.out.startswith(f"{sample.lib_name}: ")
    built = sample.environment.ok("build", sample.lib_overlay, "--out", sample.folder / "there/../out", "--json")
    assert built.json()[0]["wheel"].startswith(f"{out(sample)}/lib_npu-")


@pytest.mark.parametrize(("path", "text"), [("./lib@0000000", "no such folder"), ("./overlays", "holds no pyproject")])
def test_a_path_without_an_overlay_is_said_so(sample: Sample, path: str, text: str) -> None:
    refused(sample, build(sample, path), 3, f"{path}: ", text, "npu-overlays list")


def test_a_clone_for_a_project_that_is_not_built_is_a_mistake(sample: Sample) -> None:
    refused(sample, build(sample, sample.lib_name, "--upstream", "lob=/x"), 3, "--upstream lob", "fix: name one of lib")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"overlays": ', "a.json: cannot be read as JSON"),
        ("[]", "a.json: not an object"),
        ("{}", "a.json: overlays: is missing"),
        ('{"overlays": []}', "a.json: overlays: names no overlay"),
        ('{"overlays": "{lib}"}', "a.json: overlays: must be a list"),
        ('{"overlays": [1]}', "a.json: overlays[0]: must be a text"),
        ('{"overlays": ["app@0000000", "{lib}"]}', "a.json: overlays: no overlay `app@0000000`"),
        ('{"overlays": ["{lib}", "{lib}"]}', "a.json: overlays: names two overlays of lib"),
        ('{"overlays": ["{lib}"], "defualt": true}', "defualt: is not known fix: did you mean `default`?"),
        ('{"overlays": ["{lib}"], "default": 1}', "default: must be true or false"),
        ('{"overlays": ["{lib}"], "default": true}', "several stacks are the default: a, pair"),
        ('{"overlays": ["{lib}"], "variant_of": "b"}', "variant_of: there is no stack `b` fix: name one of a, pair"),
        ('{"overlays": ["{lib}"], "title": "x"}', "title: must be an object"),
        ('{"overlays": ["{lib}"], "components": {}}', "components: must be a list"),
        ('{"overlays": ["{lib}"], "components": [1]}', "components[0]: must be an object"),
        ('{"overlays": ["{lib}"], "components": [{}]}', "components[0].name: is missing"),
        ('{"overlays": ["{lib}"], "components": [{"name": "x", "install": "rpm"}]}', "`rpm` is no way to install"),
    ],
)
def test_a_mistake_in_a_stack_is_named(sample: Sample, content: str, text: str) -> None:
    (sample.folder / "stacks" / "a.json").write_text(content.replace("{lib}", sample.lib_name))
    refused(sample, sample.environment.cli("build", "--overlays", sample.overlays, "--out", out(sample)), 3, text)


def test_a_stack_of_other_overlays_stands_in_nobodys_way(sample: Sample) -> None:
    write_stack(sample.folder / "stacks", "a", overlays=["web@0000000"])
    sample.environment.ok("list", "--overlays", sample.overlays)
    refused(sample, build(sample, "--stack", "a"), 3, "web@0000000: no such overlay")


def test_all_mistakes_of_all_stacks_are_told_at_once(sample: Sample) -> None:
    write_stack(sample.folder / "stacks", "a", overlays=1, record="yes", components=[{"nmae": "x"}])
    write_stack(sample.folder / "stacks", "b", python=3.1)
    done = sample.environment.cli("list", "--overlays", sample.overlays)
    for text in ("a.json: overlays", "a.json: record", "[0].nmae", "[0].name", "b.json: overlays", "b.json: python"):
        assert text in done.err.replace("\n", " ")


def test_an_overlay_paired_in_two_ways_is_refused(sample: Sample) -> None:
    shutil.copytree(sample.app_overlay, sample.overlays / "web@0000000")
    stacks = {"pair": [sample.lib_name, sample.app_name], "other": [sample.lib_name, "web@0000000"]}
    write_stacks(sample.overlays, "pair", stacks)
    refused(sample, build(sample), 3, f"{sample.lib_name} is paired differently by the stacks pair and other")
