"""The text summary, to the last character."""

from __future__ import annotations

from npu_summary.layout import render

from .samples import KNOWN_TEXT, change, distribution, file, klass, transformers, typed, verl


def body(text: str) -> str:
    """Return what stands between the heading and the banner of verl, the one distribution in the text."""
    heading = " overlay verl@796871d revision 1\n"
    return text.split(heading, 1)[1].split("\n\n", 1)[1].split("\n============ ", 1)[0]


def test_known_summary_is_reproduced_to_the_last_character() -> None:
    assert render(typed(verl("module_attr"), transformers())) == KNOWN_TEXT


def test_kinds_of_our_own_fill_the_same_columns() -> None:
    assert render(typed(verl(), transformers())) == KNOWN_TEXT.replace("module_attr", "attribute")


def test_only_one_distribution_keeps_its_banners_and_the_outer_ones() -> None:
    before, _, rest = KNOWN_TEXT.partition("================ verl Patch")
    after = rest[rest.index("================ transformers Patch") :]
    assert render(typed(transformers())) == before + after


def test_distribution_without_changes_shows_its_banners_alone() -> None:
    assert render(typed(distribution("peft", []))) == (
        "================================ NPU Patch Summary ==================================\n\n"
        "================ peft Patch Summary ================\n\n"
        "Upstream: peft 1.0 at 0123456789abcdef0123456789abcdef01234567, from the commit\n"
        "Wheel: peft-npu 1.0+npu.1.g0123456, overlay peft@0123456 revision 1\n\n"
        "============ peft Patch Summary End ==============\n\n"
        "============================= NPU Patch Summary End==================================\n"
    )


def test_the_heading_says_what_was_changed_and_where_it_was_had() -> None:
    sample = distribution("verl", [])
    archive = {"source": {"kind": "archive", "archive": "verl-1.0.whl"}, "compared": True, "missing": ["a", "b"]}
    sample["upstream"] |= {**archive, "tag": "v1.0"}
    assert (
        "Upstream: verl 1.0 at 796871d7d092f7cbc6a64e7f4a3796f7a2217f5e (v1.0), from verl-1.0.whl, which lacks 2 files "
        "of the commit\nWheel: verl-npu 1.0+npu.1.g796871d, overlay verl@796871d revision 1\n"
    ) in render(typed(sample))


def test_the_heading_of_a_development_build_names_the_last_revision_if_there_is_one() -> None:
    sample = distribution("peft", [])
    sample["distribution"]["version"] = "1.0+npu.1.20261122103000123.dev3f2a1c9.g0123456"
    assert ", overlay peft@0123456 in development after revision 1\n" in render(typed(sample))
    sample["distribution"]["version"] = "1.0+npu.0.20261122103000123.dev3f2a1c9.g0123456"
    sample["overlay"]["revision"] = 0
    assert ", overlay peft@0123456 in development, no revision yet\n" in render(typed(sample))


def test_the_heading_counts_changes_by_area_and_action_and_imports_apart() -> None:
    changes = [change("added", "import", "os"), change("replaced", "method", "f", operation="wrapped")]
    files = [file("src/verl/x/y/z.py", [klass("A", changes)], []), file("src/verl/w.py", [], changes[:1])]
    files.append(file("six.py", [], [change("renamed", "method", "g")]))
    shown = render(typed(distribution("verl", files))).split(" revision 1\n", 1)[1]
    assert shown.startswith(
        "Names: begin with upstream's folder src, which an import leaves out\n"
        "Changes: 4 in 3 files\n"
        "            wrapped   renamed   imports\n"
        "   six            -         1         -\n"
        "   verl           -         -         1\n"
        "   verl.x         1         -         1\n"
        "   total          1         1         2\n\nPatch"
    )


def test_imports_are_one_line_unless_all_is_asked_for() -> None:
    imports = [change("added", "import", name) for name in ("os", "re")]
    wrapped = change("replaced", "method", "f", operation="wrapped")
    sample = typed(distribution("verl", [file("verl/x.py", [klass("A", imports[:1])], [*imports, wrapped])]))
    assert body(render(sample)) == (
        "Patch File1: verl.x.py\n   Module Changes:\n"
        "          - replaced         method         f         wrapped\n"
        "          - 2 imports (--all lists them)\n"
        "  (1) Patch class: verl.x.A\n       Class Changes:\n"
        "          - 1 import (--all lists them)\n"
    )
    assert "added         import         re\n" in render(sample, every=True)
    assert "--all" not in render(sample, every=True)


def test_definitions_of_one_form_are_one_entry_unless_all_is_asked_for() -> None:
    form = {"operation": "wrapped", "form": "src/verl/a/norm.py:ANorm.forward"}
    files = []
    for name in ("a", "b"):
        norm = klass("Norm", [change("replaced", "method", "forward", **form)])
        files.append(file(f"src/verl/{name}/norm.py", [norm], [change("added", "import", "fused")]))
    files.append(file("src/verl/c.py", [], [change("replaced", "method", "f", operation="wrapped")]))
    sample = typed(distribution("verl", files))
    assert body(render(sample)) == (
        "Patch Form1: src.verl.a.norm.ANorm.forward\n"
        "   2 definitions of this form in 2 files (--all lists them), in\n"
        "      a b\n"
        "          - replaced         method         forward         wrapped\n"
        "\n"
        "Patch File1: src.verl.c.py\n   Module Changes:\n"
        "          - replaced         method         f         wrapped\n"
    )
    assert "Patch Form" not in render(sample, every=True)
    assert render(sample, every=True).count("Patch class: ") == 2


def test_a_file_keeps_what_is_of_no_form() -> None:
    form = {"operation": "wrapped", "form": "verl/a.py:f"}
    kept = [change("replaced", "method", "f", **form), change("replaced", "method", "g", operation="edited")]
    alone = [change("replaced", "method", "h", operation="wrapped", form="verl/other.py:h")]
    files = [file("verl/a.py", [], kept), file("verl/b.py", [], kept[:1]), file("verl/c.py", [], alone)]
    text = render(typed(distribution("verl", files)))
    assert (
        "Patch File1: verl.a.py\n   Module Changes:\n          - replaced         method         g         edited"
        in text
    )
    assert "verl.b.py" not in text
    assert "Patch File2: verl.c.py" in text  # a form of one is no form


def test_wrapped_and_edited_are_replaced_and_say_so_behind_the_name() -> None:
    changes = [
        change("replaced", "method", "f", operation="edited"),
        change("replaced", "method", "g", operation="wrapped"),
        change("replaced", "method", "h"),
        change("replaced", "method", "i", operation="patch"),
        change("added", "attribute", "J", operation="edited"),
        change("replaced", "method", "k", operation="wrapped", where="if fast"),
    ]
    shown = body(render(typed(distribution("verl", [file("verl/x.py", [klass("A", changes[:1])], changes)]))))
    assert shown == (
        "Patch File1: verl.x.py\n   Module Changes:\n"
        "          - replaced         method         f         edited\n"
        "          - replaced         method         g         wrapped\n"
        "          - replaced         method         h\n"
        "          - replaced         method         i\n"
        "          - added         attribute         J\n"
        "          - replaced         method         k[if fast]         wrapped\n"
        "  (1) Patch class: verl.x.A\n       Class Changes:\n"
        "          - replaced         method         f         edited\n"
    )


def test_new_file_is_one_line_with_its_reason_then_its_classes_and_functions() -> None:
    new = {"operation": "file", "why": "fused operators"}
    module = [
        change("added", "import", "os", **new),
        change("added", "attribute", "SIZE", **new),
        change("added", "method", "f", **new),
        change("added", "method", "g", operation="edited", why="its own reason"),
    ]
    classes = [klass("A", [change("added", "method", "forward", **new)], "added", **new), klass("B", [], "added")]
    sample = distribution("verl", [file("verl/x.py", classes, module, "added")])
    assert body(render(typed(sample))) == (
        "Patch File1: verl.x.py\n   Module Changes:\n"
        "          - added         file         x.py\n"
        "          - added         method         f\n"
        "          - added         method         g\n"
        "  (1) Patch class: verl.x.A\n"
        "  (2) Patch class: verl.x.B\n"
    )
    assert body(render(typed(sample), why=True)) == (
        "Patch File1: verl.x.py\n   Module Changes:\n"
        "          - added         file         x.py\n"
        "              why: fused operators\n"
        "          - added         method         f\n"
        "          - added         method         g\n"
        "              why: its own reason\n"
        "  (1) Patch class: verl.x.A\n"
        "  (2) Patch class: verl.x.B\n"
    )


def test_other_files_keep_their_extension_and_long_names_the_gap() -> None:
    path = "recipe/dapo/config/dapo_trainer.yaml"
    changes = [change("updated", "text", "a.very.long.key." * 8), change("added", "statement", "x")]
    shown = body(render(typed(distribution("verl", [file(path, [], changes)]))))
    assert shown == (
        "Patch File1: recipe.dapo.config.dapo_trainer.yaml\n   Module Changes:\n"
        f"          - updated         text         {'a.very.long.key.' * 8}\n"
        "          - added         statement         x\n"
    )


def test_deleted_file_and_added_data_file_say_so() -> None:
    files = [
        file("verl/old.py", [], [], "deleted"),
        file("verl/new.json", [], [], "added"),
        file("verl/gone.py", [klass("A", [], "deleted")], [], "deleted"),
    ]
    assert body(render(typed(distribution("verl", files)))) == (
        "Patch File1: verl.old.py\n   Module Changes:\n"
        "          - deleted         file         old.py\n\n"
        "Patch File2: verl.new.json\n   Module Changes:\n"
        "          - added         file         new.json\n\n"
        "Patch File3: verl.gone.py\n   Module Changes:\n"
        "          - deleted         file         gone.py\n"
        "  (1) Patch class: verl.gone.A\n       Class Changes:\n"
        "          - deleted         class         A\n"
    )


def test_file_change_the_data_already_names_is_not_told_twice() -> None:
    files = [file("verl/old.py", [], [change("deleted", "file", "old.py", operation="file")], "deleted")]
    assert body(render(typed(distribution("verl", files)))).count("deleted") == 1


def test_added_class_is_its_line_alone_and_deleted_class_says_so() -> None:
    classes = [klass("New", [], "added"), klass("Outer.Old", [], "deleted", why="unused")]
    text = render(typed(distribution("verl", [file("verl/x.py", classes, [])])), why=True)
    assert body(text) == (
        "Patch File1: verl.x.py\n"
        "  (1) Patch class: verl.x.New\n"
        "  (2) Patch class: verl.x.Outer.Old\n       Class Changes:\n"
        "          - deleted         class         Outer.Old\n"
        "              why: unused\n"
    )


def test_operations_not_applied_follow_the_last_file_grouped_by_theirs() -> None:
    missing = [
        {"path": "recipe/dapo/main.py", "symbol": "main", "operation": "wrapped", "why": "seeds first"},
        {"path": "recipe/dapo/main.py", "symbol": "Task.run", "operation": "edited", "why": ""},
        {"path": "recipe/x.yaml", "symbol": "", "operation": "edit", "why": "no nccl"},
    ]
    sample = distribution("verl", [file("verl/x.py", [], [change("added", "method", "f")])], missing)
    expected = (
        "Patch File1: verl.x.py\n   Module Changes:\n"
        "          - added         method         f\n\n"
        "Not Applied: this upstream source lacks these files\n"
        "   recipe.dapo.main.py\n"
        "          - not_applied         wrapped         main\n"
        "          - not_applied         edited         Task.run\n"
        "   recipe.x.yaml\n"
        "          - not_applied         edit         x.yaml\n"
    )
    assert body(render(typed(sample))) == expected
    reasoned = body(render(typed(sample), why=True))
    assert "         main\n              why: seeds first\n          - not_applied" in reasoned
    assert "         Task.run\n   recipe.x.yaml\n" in reasoned


def test_what_is_still_assigned_is_the_last_that_is_said_of_a_distribution_with_its_reason_always() -> None:
    sample = distribution("verl", [file("verl/x.py", [], [change("added", "method", "f")])])
    sample["assigned"] = [
        {
            "when": "vLLM is started\n  on an NPU",
            "what": ["vllm.x:C.f", "vllm.y:*"],
            "why": "no\npart",
            "overlay": "verl",
        },
        {"when": "asked\x1b for", "what": ["torch:f"], "why": "a choice", "overlay": "verl"},
    ]
    expected = (
        "Patch File1: verl.x.py\n   Module Changes:\n"
        "          - added         method         f\n\n"
        "Assigned At Run Time: by upstream's own code, in other packages\n"
        "   when vLLM is started on an NPU\n"
        "          - assigned         vllm.x.C.f\n"
        "          - assigned         vllm.y.*\n"
        "              why: no part\n"
        "   when asked\\x1b for\n"
        "          - assigned         torch.f\n"
        "              why: a choice\n"
    )
    assert body(render(typed(sample))) == expected
    assert body(render(typed(sample), why=True)).endswith(expected.partition("\n\n")[2])


def test_reasons_stand_below_their_change_each_on_one_line() -> None:
    full = change(
        "replaced",
        "method",
        "forward",
        why="one kernel\n    instead of five",
        forwarded="https://example.org/pull/1",
        drop_when="the pull request is merged",
    )
    silent = change("added", "attribute", "x", why="")
    classes = [klass("Norm", [full]), klass("New", [], "added", why="a new class")]
    text = render(typed(distribution("verl", [file("verl/x.py", classes, [silent])])), why=True)
    assert body(text) == (
        "Patch File1: verl.x.py\n   Module Changes:\n"
        "          - added         attribute         x\n"
        "  (1) Patch class: verl.x.Norm\n       Class Changes:\n"
        "          - replaced         method         forward\n"
        "              why: one kernel instead of five\n"
        "              forwarded: https://example.org/pull/1\n"
        "              drop when: the pull request is merged\n"
        "  (2) Patch class: verl.x.New\n"
        "       why: a new class\n"
    )


def test_every_reason_of_a_change_stands_below_it_and_another_order_fills_the_columns() -> None:
    also = [{"operation": "edited", "why": "second", "forwarded": "#2", "drop_when": "", "overlay": "verl@796871d"}]
    inner = change("replaced", "order", "__order__", why="first", also=also)
    gone = klass("Gone", [], "deleted", why="one", also=also)
    text = render(typed(distribution("verl", [file("verl/x.py", [klass("A", [inner]), gone], [])])), why=True)
    assert body(text) == (
        "Patch File1: verl.x.py\n"
        "  (1) Patch class: verl.x.A\n       Class Changes:\n"
        "          - replaced         order         __order__\n"
        "              why: first\n"
        "              why: second\n"
        "              forwarded: #2\n"
        "  (2) Patch class: verl.x.Gone\n       Class Changes:\n"
        "          - deleted         class         Gone\n"
        "              why: one\n"
        "              why: second\n"
        "              forwarded: #2\n"
    )


def test_what_an_addition_overrides_stands_behind_it() -> None:
    text = render(
        typed(
            distribution("verl", [file("verl/x.py", [], [change("added", "method", "f", affects="overrides `B.f`")])])
        )
    )
    assert "          - added         method         f         overrides `B.f`\n" in text


def test_control_characters_cannot_forge_a_line_or_move_the_cursor() -> None:
    changes = [change("added", "method", "f\nPatch File9: x", why="a\x1b[2Jb")]
    text = render(typed(distribution("verl", [file("verl/\ud800.py", [], changes)])), why=True)
    assert "          - added         method         f\\nPatch File9: x\n              why: a\\x1b[2Jb\n" in text
    assert "Patch File1: verl.\\ud800.py\n" in text
