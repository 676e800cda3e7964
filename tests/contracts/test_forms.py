"""Targets by form: models stand for all definitions of their forms, which the lock lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.overlays import apply, layer, mistakes, write
from language.pairs import operations, refused, source_tree, text
from npu_overlays.contracts.form_targets import form_notices, form_targets, found_content
from npu_overlays.errors import MergeError, OverlayError
from npu_overlays.model import Model, Symbol, model_of_files
from npu_overlays.model.forms import Forms
from npu_overlays.overlay.content import load_content, models_of
from npu_overlays.overlay.operations import NO_FORMS, FormTargets
from npu_overlays.overlay.overlay_folders import find_overlay

from .locks import told

MODEL = """
    class ANorm(Module):
        def __init__(self, size, eps=1e-6):
            self.weight = nn.Parameter(torch.ones(size))
            self.eps = eps

        def forward(self, x):
            '''Norm. It is one.'''
            x = super(ANorm, self).forward(x)
            return self.weight * rescaled(x, self.eps)

    def rescaled(x, eps):
        return x * torch.rsqrt(x.pow(2).mean(-1) + eps)
    """
NORM = text(MODEL)
IMPORTS = "import torch\nfrom torch import nn\nfrom torch.nn import Module\n\n\n"
OVERLAY = """
    from npu_overlays.markers import like
    @wrapped(
        targets=like("pkg/a.py:ANorm.forward", within="pkg/*.py"),
        why="w",
    )
    def forward(self, x):
        return upstream(self, x) if x.fast(self.weight, self.eps) else None
    """


class FormsOfOverlay(NamedTuple):
    """What an overlay says of an upstream."""

    forms: FormTargets
    model: Model

    @property
    def targets(self) -> list[str]:
        """The definitions that the only model stands for, its own without the path."""
        (names,) = self.forms.values()
        return [name.removeprefix("pkg/") for name in names]


def upstream(*others: str, norm: str = NORM) -> dict[str, bytes]:
    """Return an upstream with the model in ``pkg/a.py``, and other modules, ``pkg/b.py`` first."""
    files = {"pkg/__init__.py": b"", "pkg/a.py": (IMPORTS + norm).encode()}
    for letter, content in zip("bcdefgh", others, strict=False):
        files[f"pkg/{letter}.py"] = (IMPORTS + content).encode()
    return files


def found(root: Path, files: Mapping[str, bytes], overlay: str = OVERLAY) -> FormsOfOverlay:
    """Return what an overlay's file of ``shared/`` finds in an upstream."""
    pin = find_overlay(root, write(root, {"shared/s.py": overlay}))
    model = model_of_files(files, ["pkg"])
    return FormsOfOverlay(form_targets(models_of(pin, "1.0"), source_tree(files), model), model)


def wrong(root: Path, files: Mapping[str, bytes], overlay: str) -> list[str]:
    """Return the mistakes of an overlay's file of ``shared/``, without the place of the file."""
    with pytest.raises(OverlayError) as caught:
        found(root, files, overlay)
    return [one.removeprefix("pkg@1111111/shared/s.py:") for one in mistakes(caught.value)]


OTHERS = {
    "the class has another name": NORM.replace("ANorm", "Other"),
    "its name is part of others": NORM.replace("ANorm", "Other").replace("Module)", "Module, metaclass=OtherMeta)"),
    "annotations and docstrings are others": NORM.replace("(self, x):", "(self, x: int) -> str:").replace("Norm.", ""),
    "layout and comments are others": NORM.replace("return self.weight *", "# All.\n        return (self.weight) *"),
    "a decorator stays on top": NORM.replace("    def forward", "    @torch.no_grad()\n    def forward"),
    "the arguments of what gives an attribute its value are others": NORM.replace("torch.ones(size)", "size"),
    "an expression that is no call gives an attribute its value": NORM.replace("= eps", "= eps + 1"),
    "the rest of the class is another": NORM.replace("def __init__", "def more(self): ...\n    def __init__"),
    "a helper of another module is of one form": f"from pkg.a import rescaled\n{NORM.partition('def rescaled')[0]}",
    "Python takes a letter for another": NORM.replace("* rescaled(", "* re\N{MATHEMATICAL SCRIPT SMALL S}caled("),
    "a helper says the same in other words": NORM.replace("def rescaled(x, eps)", "def rescaled(x, eps: float)"),
}
STRANGERS = {
    "another number in the body": NORM.replace("self.weight *", "2 * self.weight *"),
    "another parameter": NORM.replace("(self, x):", "(self, x, y=0):"),
    "another default": NORM.replace("(self, x):", "(self, x=0):"),
    "another name of the method": NORM.replace("def forward", "def backward"),
    "a static method": NORM.replace("    def forward", "    @staticmethod\n    def forward"),
    "another call gives an attribute its value": NORM.replace("nn.Parameter", "nn.Buffer"),
    "an attribute has its value only sometimes": NORM.replace(
        "        self.weight = nn", "        if size:\n            self.weight = nn"
    ),
    "an attribute is not set": NORM.replace("self.eps = eps", "pass"),
    "a helper does something else": NORM.replace("mean(-1)", "mean(-2)"),
    "a helper is another one": f"from torch import rescaled\n{NORM.partition('def rescaled')[0]}",
    "it is no method": "def forward(self, x):\n    return self.weight * rescaled(x, self.eps)\n",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_definition_of_the_same_form_is_a_target(tmp_path: Path, other: str) -> None:
    name = "Other" if "class Other" in other else "ANorm"
    assert found(tmp_path, upstream(other)).targets == ["a.py:ANorm.forward", f"b.py:{name}.forward"]


@pytest.mark.parametrize("other", STRANGERS.values(), ids=STRANGERS)
def test_a_definition_of_another_form_is_none(tmp_path: Path, other: str) -> None:
    assert found(tmp_path, upstream(other)).targets == ["a.py:ANorm.forward"]


METHOD = NORM.replace("rescaled(x, self.eps)", "self._norm(x)").replace(
    "\ndef rescaled(x, eps):\n    return x", "\n    def _norm(self, x):\n        return x"
)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (METHOD, ["a.py:ANorm.forward", "b.py:ANorm.forward"]),
        (METHOD.replace("mean(-1)", "mean(-2)"), ["a.py:ANorm.forward"]),
        (METHOD.replace("    def _norm", "    def _other"), ["a.py:ANorm.forward"]),
        (METHOD.replace("    def _norm", "    @property\n    def _norm"), ["a.py:ANorm.forward"]),
    ],
)
def test_methods_that_the_text_calls_are_of_one_form_too(tmp_path: Path, other: str, expected: list[str]) -> None:
    assert found(tmp_path, upstream(other, norm=METHOD)).targets == expected


def alike(other: str) -> list[str]:
    """Return what is of the model's form in another module."""
    forms = Forms(model_of_files(upstream(other), ["pkg"]).symbols)
    return [one.name for one in forms.alike(Symbol("pkg/a.py", "ANorm.forward"), ["pkg/b.py"], ["weight", "eps"])]


@given(st.from_regex(r"\A[A-Z_][a-zA-Z0-9_]{0,8}\Z").filter(lambda name: name != "Module"))
def test_a_class_may_have_any_name(name: str) -> None:
    assert alike(NORM.replace("ANorm", name)) == [f"{name}.forward"]


LINE = "return self.weight * rescaled(x, self.eps)"
TOKENS = re.findall(r"\w+|\W", LINE)
WORDS = [number for number, token in enumerate(TOKENS) if token.isidentifier() and number]


@given(st.sampled_from(WORDS), st.from_regex(r"\A[a-z]{1,3}\Z"))
def test_a_body_has_no_other_word(number: int, word: str) -> None:
    tokens = [*TOKENS]
    tokens[number] += f"_{word}"
    assert alike(NORM.replace(LINE, "".join(tokens))) == []


def test_a_lock_lists_what_has_no_part_in_but_too(tmp_path: Path) -> None:
    but = """but={"pkg/b.py:Other.forward": "Its weight is a distance from 1."}"""
    overlay = OVERLAY.replace('*.py")', f'*.py", {but})')
    files = upstream(NORM.replace("ANorm", "Other"))
    forms, _ = found(tmp_path, files, overlay)
    assert [*forms.values()] == [("pkg/a.py:ANorm.forward", "pkg/b.py:Other.forward")]
    content = load_content(find_overlay(tmp_path, "pkg@1111111"), "1.0", forms)
    assert [f"{one.path}:{one.symbol}" for one in content.operations] == ["pkg/a.py:ANorm.forward"]


def test_every_definition_found_is_changed_alike(tmp_path: Path) -> None:
    files = upstream(NORM.replace("ANorm", "Other"))
    forms, _ = found(tmp_path, files)
    applied = apply(files, load_content(find_overlay(tmp_path, "pkg@1111111"), "1.0", forms))
    for path in ("pkg/a.py", "pkg/b.py"):
        changed = (applied.tree.after(path) or b"").decode()
        assert "return __class__._upstream_forward(self, x) if x.fast(self.weight, self.eps) else None" in changed


SCALED = NORM.replace("self.weight *", "2 * self.weight *").replace("ANorm", "Scaled")
SEVERAL = OVERLAY.replace(
    """like("pkg/a.py:ANorm.forward", within="pkg/*.py")""",
    """[like("pkg/a.py:ANorm.forward", "pkg/b.py:Scaled.forward", within="pkg/*.py")]""",
)


def targets(root: Path, files: Mapping[str, bytes], overlay: str, version: str = "1.0") -> list[str]:
    """Return what an overlay's operations for a version of an upstream change, without the folder."""
    pin = find_overlay(root, write(root, {"shared/s.py": overlay}))
    forms = form_targets(models_of(pin, version), source_tree(files), model_of_files(files, ["pkg"]))
    content = load_content(pin, version, forms)
    return [f"{one.path.removeprefix('pkg/')}:{one.symbol}" for one in content.operations]


def test_a_definition_serves_several_forms(tmp_path: Path) -> None:
    files = upstream(SCALED, NORM.replace("ANorm", "Other"), SCALED.replace("Scaled", "More"))
    expected = ["a.py:ANorm.forward", "c.py:Other.forward", "b.py:Scaled.forward", "d.py:More.forward"]
    assert targets(tmp_path, files, SEVERAL) == expected


def test_a_definition_of_two_of_the_forms_is_changed_once(tmp_path: Path) -> None:
    files = upstream(SCALED.replace("2 * ", ""), SCALED)
    assert targets(tmp_path, files, SEVERAL) == ["a.py:ANorm.forward", "b.py:Scaled.forward"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.0", ["a.py:ANorm.forward", "b.py:Scaled.forward"]), ("2.0", ["a.py:ANorm.forward"])],
)
def test_each_form_may_be_for_versions_of_its_own(tmp_path: Path, version: str, expected: list[str]) -> None:
    forms = """
            like("pkg/a.py:ANorm.forward", within="pkg/*.py"),
            like("pkg/b.py:Scaled.forward", within="pkg/*.py", until="2"),
        """
    files = upstream(SCALED) if version == "1.0" else upstream()
    assert (
        targets(tmp_path, files, SEVERAL.replace(SEVERAL[SEVERAL.index("like(") : SEVERAL.index("],")], forms), version)
        == expected
    )


def test_a_form_that_ends_says_when_it_goes() -> None:
    always, ends = operations(
        """
        from npu_overlays.markers import like
        @edited(("a", "b"), targets=[like("a.py:f", within="*"), like("a.py:g", within="*", until="5")], why="w")
        def f(): ...
        """,
        target="",
    )
    assert (always.bounds.until, always.reason.drop_when) == ("", "")
    assert (ends.bounds.until, ends.reason.drop_when) == ("5", "the pin is 5 or newer")


def test_bounds_stand_at_the_forms_or_at_the_marker() -> None:
    both = "say it at each like(…), or for all of them at the marker"
    refused(
        "x = 1\n",
        """
        from npu_overlays.markers import like
        @edited(("a", "b"), targets=like("a.py:f", within="*", since="5"), why="w", until="6")
        def f(): ...
        @edited(("a", "b"), targets=like("a.py:f", within="*", since=5, until="x"), why="w")
        def f(): ...
        @edited(("a", "b"), targets=[like("a.py:f", within="*"), "a.py:g"], why="w")
        def f(): ...
        """,
        f"3: `since` or `until` stands at like(…) and at the marker; {both}",
        '5: `since` is not a text; write since="0.6.0", for example',
        '5: `x` is not a version; write until="0.6.0", for example',
        "7: `targets` lists like(…) beside something else; write two definitions, or only like(…)",
        target="",
    )


def test_the_model_is_a_target_wherever_it_lies(tmp_path: Path) -> None:
    overlay = OVERLAY.replace("pkg/*.py", "pkg/b*.py")
    assert found(tmp_path, upstream(NORM, NORM), overlay).targets == ["a.py:ANorm.forward", "b.py:ANorm.forward"]


def test_a_class_has_a_form_too(tmp_path: Path) -> None:
    overlay = """
        from npu_overlays.markers import like
        @replaced(targets=like("pkg/a.py:ANorm", within="pkg/*.py"), why="w")
        class ANorm: pass
        """
    files = upstream(NORM.replace("ANorm", "Other"), NORM.replace("eps=1e-6", "eps=1e-5"))
    assert found(tmp_path, files, overlay).targets == ["a.py:ANorm", "b.py:Other"]


def test_a_function_has_its_name(tmp_path: Path) -> None:
    overlay = """
        from npu_overlays.markers import like
        @edited(("x *", "eps *"), targets=like("pkg/a.py:rescaled", within="pkg/*.py"), why="w")
        def f(): ...
        """
    files = upstream(NORM, NORM.replace("def rescaled", "def scaled"))
    assert found(tmp_path, files, overlay).targets == ["a.py:rescaled", "b.py:rescaled"]


def test_an_edit_reads_the_attributes_that_it_puts_in() -> None:
    (one,) = operations(
        """
        from npu_overlays.markers import like
        @edited(("x", "x + self.eps"), targets=like("pkg/a.py:A.f", within="*"), why="w")
        def f(): ...
        """,
        target="",
    )
    assert one.like
    assert one.like.reads == ("eps",)


def test_a_model_that_upstream_lacks_is_named_with_the_nearest(tmp_path: Path) -> None:
    overlay = """
        from npu_overlays.markers import like
        @wrapped(targets=like("pkg/aa.py:ANorm.forward", within="pkg/*.py"), why="w")
        def forward(self, x): return upstream(self, x)
        @wrapped(targets=like("pkg/a.py:ANorms.forward", within="pkg/*.py"), why="w")
        def forward(self, x): return upstream(self, x)
        @wrapped(targets=like("pkg/a.py:ANorm.forward", within="pk/*.py"), why="w")
        def forward(self, x): return upstream(self, x)
        @wrapped(
            targets=like("pkg/a.py:ANorm.forward", within="pkg/*", but={"pkg/b.py:ANorms.forward": "It is not."}),
            why="w",
        )
        def forward(self, x): return upstream(self, x)
        @wrapped(targets=like("pkg/a.py:torch", within="pkg/*.py"), why="w")
        def forward(self, x): return upstream(self, x)
        """
    assert wrong(tmp_path, upstream(NORM), overlay) == [
        "4: upstream has no pkg/aa.py; did you mean `pkg/a.py`?",
        "6: pkg/a.py has no `ANorms.forward`; did you mean `ANorm.forward`?",
        "8: no shipped module is called as `within` says: pk/*.py; did you mean `pkg/b.py`?",
        (
            "13: `but` names `pkg/b.py:ANorms.forward`, which is not of the form of"
            " `pkg/a.py:ANorm.forward`; did you mean "
            "`pkg/b.py:ANorm.forward`?"
        ),
        "15: `torch` of pkg/a.py is no function and no class; name the targets: targets=[…]",
    ]


def test_like_names_one_model_the_files_and_exceptions_with_reasons() -> None:
    how = 'write like("path/of/file.py:Class.method", within="path/*/file_*.py")'
    but = 'write but={"path/of/file.py:Class.method": "why it is not meant"}'
    refused(
        "x = 1\n",
        """
        from npu_overlays.markers import like
        @wrapped(targets=like(), why="w")
        def f(): return upstream()
        @wrapped(targets=like("a.py", "b.py:c", within=3), why="w")
        def f(): return upstream()
        @wrapped(targets=like("a.py:f", among="*", within=PATH), why="w")
        def f(): return upstream()
        @wrapped(targets=like("a.py:f", within="*", but=["a.py:g"]), why="w")
        def f(): return upstream()
        @wrapped(targets=like("a.py:f", within="*", but={"a.py:g": "", "h": "No."}), why="w")
        def f(): return upstream()
        @wrapped(targets=like("a.py:f", within="*"), where="#2", why="w")
        def f(): return upstream()
        @added(targets=like("a.py:f", within="*"), why="w")
        def f(): return 1
        """,
        f"3: like(…) names no model; {how}",
        f"3: like(…) does not say in which files; {how}",
        f"5: `'a.py'` of like(…) is no model; {how}",
        f"5: like(…) does not say in which files; {how}",
        "7: like(…) has no argument `among`; use within, but, since or until",
        "7: `within` is not a literal; write it out: nothing is executed at build time",
        f"9: `but` is no table of targets; {but}",
        f"11: `but` holds 'a.py:g' without a target or a reason; {but}",
        f"11: `but` holds 'h' without a target or a reason; {but}",
        "13: `where` does not go with like(…); name the targets: targets=[…]",
        "15: like(…) finds what upstream has, and this is added; name each class or module that it is"
        " added to: targets=[…]",
        target="",
    )


def test_like_stands_in_shared_files_alone_and_is_imported() -> None:
    refused(
        "def f(): pass\n",
        """
        from npu_overlays.markers import like
        @wrapped(targets=like("pkg/module.py:f", within="*"), why="w")
        def f(): return upstream()
        """,
        "4: targets= belongs to files of shared/; take targets= out, or move the definition to shared/",
    )
    refused(
        "def f(): pass\n",
        """
        @wrapped(targets=like("pkg/module.py:f", within="*"), why="w")
        def f(): return upstream()
        """,
        "2: `targets` is not a literal; write it out: nothing is executed at build time",
        '3: a shared definition names no targets; write targets=["path.py:Class.method"]',
        target="",
    )


def test_without_a_list_nothing_is_matched(tmp_path: Path) -> None:
    forms, _ = found(tmp_path, upstream(), OVERLAY.replace("pkg/*.py", "*.py"))
    pin = find_overlay(tmp_path, write(tmp_path, {"shared/s.py": OVERLAY}))
    for listed in (NO_FORMS, forms):
        with pytest.raises(MergeError) as caught:
            load_content(pin, "1.0", listed)
        assert mistakes(caught.value) == [
            (
                "pkg@1111111/shared/s.py:7: overlay.lock does not list the definitions like `pkg/a.py:ANorm.forward`"
                f" within pkg/*.py; run `npu-overlays lock {pin.argument}`"
            )
        ]


def test_a_drop_leaves_out_one_of_the_targets(tmp_path: Path) -> None:
    files = upstream(NORM)
    forms, _ = found(tmp_path, files)
    layer(tmp_path, {"shared/s.py": OVERLAY})
    drop = '[[tool.overlay.drop]]\nname = "pkg/b.py:ANorm.forward"\nwhy = "w"\n'
    pin = find_overlay(tmp_path, write(tmp_path, {}, name="new", config=drop))
    content = load_content(pin, "1.0", forms)
    assert [f"{one.path}:{one.symbol}" for one in content.operations] == ["pkg/a.py:ANorm.forward"]


@pytest.mark.parametrize("dropped", [("a",), ("a", "b"), ("b",), ()])
def test_a_form_whose_model_is_gone_and_dropped_has_no_other_targets(tmp_path: Path, dropped: tuple[str, ...]) -> None:
    files = upstream(NORM, norm="")
    layer(tmp_path, {"shared/s.py": OVERLAY})
    drops = "".join(f'[[tool.overlay.drop]]\nname = "pkg/{one}.py:ANorm.forward"\nwhy = "w"\n' for one in dropped)
    pin = find_overlay(tmp_path, write(tmp_path, {}, name="new", config=drops))
    tree = source_tree(files)
    if "a" not in dropped:
        with pytest.raises(MergeError, match=r"has no `ANorm\.forward`"):
            found_content(pin, "1.0", tree)
    else:
        assert found_content(pin, "1.0", tree).operations == ()


def test_a_second_operation_on_a_target_belongs_into_but(tmp_path: Path) -> None:
    files = upstream(NORM)
    more = (
        OVERLAY
        + """
    @replaced(targets=["pkg/b.py:ANorm.forward"], why="w")
    def forward(self, x): return x
    """
    )
    forms, _ = found(tmp_path, files, more)
    with pytest.raises(MergeError) as caught:
        apply(files, load_content(find_overlay(tmp_path, "pkg@1111111"), "1.0", forms))
    assert mistakes(caught.value) == [
        (
            "pkg@1111111/shared/s.py:11: second operation on `ANorm.forward` of pkg/b.py; the first is "
            'pkg@1111111/shared/s.py:7; add "pkg/b.py:ANorm.forward" to `but` of pkg@1111111/shared/s.py:7, with the'
            " reason"
        )
    ]


def test_a_lock_says_what_came_and_what_went_and_why(tmp_path: Path) -> None:
    before, _ = found(tmp_path, upstream(NORM, NORM, NORM))
    changed = NORM.replace("self.weight *", "2 * self.weight *")
    forms, model = found(tmp_path, upstream(NORM, changed, "", NORM))
    assert [*form_notices(NO_FORMS, before, model)] == ["4 definitions have the form of `pkg/a.py:ANorm.forward`"]
    assert [*form_notices(before, before, model)] == []
    assert [*form_notices(before, forms, model)] == [
        (
            "1 more definition has the form of `pkg/a.py:ANorm.forward`: pkg/e.py:ANorm.forward;"
            " 2 no longer have it: pkg/c.py:ANorm.forward (its body (`return self.weight *"
            " rescaled(x, self.eps)` → `return 2 * self.weight * rescaled(x, self.eps)`)),"
            " pkg/d.py:ANorm.forward (it is gone)"
        )
    ]


def test_a_target_that_came_was_written_for_the_model(tmp_path: Path) -> None:
    before, after = upstream(), upstream(NORM)
    assert told(tmp_path, before, after, {"shared/s.py": OVERLAY}) == []


def test_of_many_that_came_or_went_a_lock_names_a_few(tmp_path: Path) -> None:
    before, model = found(tmp_path, upstream(NORM))
    after, _ = found(tmp_path, upstream(*[NORM] * 6))
    (came,) = form_notices(before, after, model)
    assert came.startswith(
        "5 more definitions have the form of `pkg/a.py:ANorm.forward`: pkg/c.py:ANorm.forward, pkg/d"
    )
    assert came.endswith(", pkg/d.py:ANorm.forward, pkg/e.py:ANorm.forward, … (5 in all)")
    (went,) = form_notices(after, before, model)
    assert went.startswith(
        "5 definitions no longer have the form of `pkg/a.py:ANorm.forward`: pkg/c.py:ANorm.forward ("
    )
    assert went.endswith("pkg/e.py:ANorm.forward (it is gone), … (5 in all)")
