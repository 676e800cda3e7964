"""Which of several definitions of a name is meant: by what leads to it, in the merge, the lock and the comparison."""

from __future__ import annotations

import textwrap

import pytest

from npu_overlays.contracts.contracts import breaking, contract, differences
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, symbols_of

from .pairs import PATH, check, explain, merged, operations, refused, text
from .test_wrapped_calls import run

PROPERTY = """
    class A:
        @property
        def size(self): return self._size

        @size.setter
        def size(self, new): self._size = new

        @size.deleter
        def size(self): del self._size
    """
VARIANTS = """
    if sys.version_info >= (3, 11):
        def f(x): return 1
    elif sys.platform == "win32":
        def f(x): return 2
    else:
        def f(x): return 3
    """
GENERIC = """
    @singledispatch
    def kind(x): return "any"

    @kind.register
    def _(x: int): return "int"

    @kind.register
    def _(x: str): return "str"

    @kind.register(list)
    def _(x): return "list"
    """


@pytest.mark.parametrize(
    ("before", "symbols", "meant"),
    [
        ("def f(): pass", ["f"], [1]),
        ("f = 1\nf = 2", ["f[#1]", "f[#2]"], [1, 2]),
        ("f = 1\nf = f + 1", ["f[#1]", "f[#2]"], [1, 2]),
        ("def f(): pass\nf = cached(f)", ["f", "f[#2]"], [1]),
        ("class f: pass\nf: type = register(f)", ["f", "f[#2]"], [1]),
        ("def f(): pass\nf = cached", ["f[def f()]", "f[#2]"], [1, 2]),
        ("if TYPE_CHECKING:\n def f(): ...\nelse:\n def f(): pass", ["f[if TYPE_CHECKING]", "f"], [4]),
        ("if not t.TYPE_CHECKING:\n def f(): pass\nelse:\n from a import f", ["f", "f[else]"], [2]),
        ('def f(): pass\nif __name__ == "__main__":\n f = 1', ["f", 'f[if __name__ == "__main__"]'], [1]),
        ('def f(): pass\nif "__main__" != __name__:\n f = 1', ["f[def f()]", 'f[if "__main__" != __name__]'], [1, 3]),
        ('def f(): pass\nif x and __name__ == "__main__":\n f = 1', ["f", 'f[if x and __name__ == "__main__"]'], [1]),
        ('if "__main__" != __name__:\n def f(): pass\nelse:\n f = 1', ["f", "f[else]"], [2]),
        ('if __name__ == "main":\n f = 1\nelse:\n f = 2', ['f[if __name__ == "main"]', "f[else]"], [2, 4]),
        ("try: from a import f\nexcept (A, B):\n f = None", ["f[try]", "f[except (A, B)]"], [1, 3]),
        ("try:\n f = 1\nfinally:\n f = 2", ["f[try]", "f[finally]"], [2, 4]),
        ("for x in y:\n f = 1\nelse:\n f = 2", ["f[for x in y]", "f[else]"], [2, 4]),
        ("match x:\n case 1 if y: f = 1\n case _: f = 2", ["f[case 1 if y]", "f[case _]"], [2, 3]),
        ("if x[';']:\n f = 1\nelse:\n f = 2", ["f[#1]", "f[else]"], [2, 4]),
        ("if a:\n f = 1\nif  a :\n f = 2", ["f[#1]", "f[#2]"], [2, 4]),
        ("from typing import overload as o\n@o\ndef f(x: int): ...\ndef f(x): pass", ["f[@o]", "f"], [4]),
    ],
)
def test_each_definition_has_a_symbol_and_the_name_means_what_runs(
    before: str, symbols: list[str], meant: list[int]
) -> None:
    module = Module(PATH, f"{before}\n".encode())
    assert symbols_of(module, "f") == symbols
    assert [chosen(module, symbol) for symbol in symbols] == [[one] for one in module.definitions["f"]]
    assert [one.node.lineno for one in chosen(module, "f")] == meant


@pytest.mark.parametrize(
    "setter",
    [
        "size = property()\n    @replaced(why='w')\n    @size.setter\n    def size(self, new): self._size = 0",
        "@edited(('= new', '= 0'), why='w', where='@size.setter')\n    def size(self, new): ...",
        "@edited(('= new', '= 0'), why='w')\n    @size.setter\n    def size(self, new): ...",
        "@wrapped(why='w', where='#2')\n    def size(self, new): upstream(self, 0)",
        "@wrapped(why='w', where=('@ size . setter',))\n    def size(self, new): upstream(self, 0)",
    ],
)
def test_a_setter_alone_is_written_in_several_ways(setter: str) -> None:
    module = run(text(PROPERTY), f"class A:\n    {setter}\n")
    box = module.A()
    box.size = 5
    assert box.size == 0
    del box.size


def test_a_setter_is_added_to_a_property_that_has_none_and_a_property_with_one() -> None:
    module = run(
        "class A:\n    @property\n    def old(self): return self._old\n    x = 1\n",
        """
        class A:
            old = property()
            @added(why="1")
            @old.setter
            def old(self, new): self._old = new
            @added(why="2")
            @property
            def new(self): return self._old + 1
            @added(why="3")
            @new.setter
            def new(self, value): self._old = value - 1
        """,
    )
    one = module.A()
    one.new = 5
    assert (one.old, one.new) == (4, 5)
    refused(
        PROPERTY,
        "class A:\n    @added(why='w')\n    @size.setter\n    def size(self, new): pass\n",
        "5: pkg/module.py already defines `A.size[@size.setter]` (line 6); use @replaced, @wrapped or @edited",
    )


@pytest.mark.parametrize(
    ("where", "number", "private"),
    [
        ("'if sys.version_info >= (3, 11)'", 1, "_upstream_f_1"),
        ("'if sys.version_info>=(3,11):'", 1, "_upstream_f_1"),
        ("'elif sys.platform == \"win32\"'", 2, "_upstream_f_2"),
        ("'if sys.platform == \"win32\"'", 2, "_upstream_f_2"),
        ("'else'", 3, "_upstream_f_3"),
        ("'#3'", 3, "_upstream_f_3"),
        ("['def f(x)', '#2']", 2, "_upstream_f_2"),
    ],
)
def test_a_conditional_definition_is_chosen_by_its_condition_or_number(where: str, number: int, private: str) -> None:
    check(
        VARIANTS,
        f"@wrapped(why='w', where={where})\ndef f(x): return -upstream(x)\n",
        text(VARIANTS).replace(
            f"    def f(x): return {number}\n",
            f"    # wrapped: w\n    def f(x): return -{private}(x)\n\n\n    def {private}(x): return {number}\n",
        ),
    )


def test_variants_are_operated_on_side_by_side() -> None:
    content, declared = merged(
        VARIANTS,
        """
        @wrapped(why="1", where="if sys.version_info >= (3, 11)")
        def f(x): return upstream(x)
        @edited(("2", "4"), why="2", where="#2")
        def f(x): ...
        @replaced(why="3", where="else")
        def f(x): return 5
        """,
    )
    assert explain(text(VARIANTS).encode(), content, declared) == [
        "replaced f[if sys.version_info >= (3, 11)] (wrapped)",
        'replaced f[elif sys.platform == "win32"] (edited)',
        "replaced f[else] (replaced)",
    ]


def test_accessors_of_each_variant_of_a_property_keep_their_own_originals() -> None:
    before = text(PROPERTY).replace("class A:\n", "")
    variants = f"class A:\n    if fast:\n{textwrap.indent(before, '    ')}    else:\n{textwrap.indent(before, '    ')}"
    wrapper = "    @wrapped(why='w', where=['{}', '@size.setter'])\n    def size(self, new): upstream(self, new * {})\n"
    overlay = f"class A:\n{wrapper.format('if fast', 2)}{wrapper.format('else', 3)}"
    content, declared = merged(variants, overlay)
    assert explain(variants.encode(), content, declared) == [
        "replaced A.size[if fast; @size.setter] (wrapped)",
        "replaced A.size[else; @size.setter] (wrapped)",
    ]
    for fast, size in ((True, 2), (False, 3)):
        one = run(f"fast = {fast}\n{variants}", overlay).A()
        one.size = 1
        assert one.size == size


@pytest.mark.parametrize(
    ("before", "lines"),
    [
        ("@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x): return x\n", "2, 4"),
        ("def f(x): return x\nf = cached(f)\n", "2"),
        ("@property\ndef f(x): return x\n@f.setter\ndef f(x, new): pass\n", "4"),
    ],
)
def test_a_deletion_that_leaves_further_definitions_is_refused_unless_it_says_which_one_goes(
    before: str, lines: str
) -> None:
    fix = "delete those too, each with its where=, or select with where= the only one to delete"
    refused(
        before, 'deleted("f", why="w")\n', f"2: `f` has further definitions, which would stay (line {lines}); {fix}"
    )
    assert merged(before, 'deleted("f", where="def f(x)", why="w")\n')[0] != before.encode()
    numbers = range(1, before.count("def ") + before.count("f =") + 1)
    assert b"def" not in merged(before, "".join(f'deleted("f", where="#{one}", why="w")\n' for one in numbers))[0]


def test_functions_that_are_registered_are_chosen_by_decorator_or_head() -> None:
    module = run(
        f"from functools import singledispatch\n{text(GENERIC)}",
        """
        @wrapped(why="1", where="def _(x: int)")
        def _(x): return "my " + upstream(x)
        @replaced(why="2", where="#2")
        @kind.register
        def _(x: str): return "text"
        @wrapped(why="3")
        @kind.register(list)
        def _(x): return "my " + upstream(x)
        """,
    )
    cases: tuple[object, ...] = (1, "a", [], None)
    assert [module.kind(one) for one in cases] == ["my int", "text", "my list", "any"]


def test_members_of_a_conditional_class_are_chosen_by_its_condition() -> None:
    before = (
        "if fast:\n    class A:\n        def f(self): return 1\nelse:\n    class A:\n        def f(self): return 2\n"
    )
    overlay = """
        class A:
            @wrapped(why="1", where="else")
            def f(self): return -upstream(self)
            @added(why="2", where="if fast")
            def g(self): return 3
            deleted("f", where="if fast", why="4")
        """
    for fast in (True, False):
        one = run(f"fast = {fast}\n{before}", overlay).A()
        assert (hasattr(one, "f") and one.f(), hasattr(one, "g") and one.g()) == ((False, 3) if fast else (-2, False))


@pytest.mark.parametrize(
    ("before", "where", "line"),
    [
        ("def f(): return 1\ndef f(): return 2\n", "#1", 2),
        ("def f():\n    return f()\ndef g(): pass\ndel f\n", "#1", 4),
        ("class A:\n    def f(): pass\n    f = 1\n", "#1", 3),
        ("class A:\n    def f(): pass\nclass A: pass\n", "#1", 3),
    ],
)
def test_a_definition_that_another_takes_the_place_of_unread_is_refused(before: str, where: str, line: int) -> None:
    marked = f"@wrapped(why='w', where='{where}')\ndef f(): return upstream()\n"
    overlay = f"class A:\n    {marked}".replace("\ndef", "\n    def") if before.startswith("class") else marked
    name = "A" if "class A: pass" in before else "A.f" if "class" in before else "f"
    what = f"line {line} of pkg/module.py binds `{name}` again before anything reads this one"
    refused(before, overlay, f"{4 if 'A' in overlay else 3}: {what}; change the definition at that line")


@pytest.mark.parametrize(
    "before",
    [
        "def f(): return 1\ng = f\ndef f(): return 2\n",
        "def g(): return f()\ndef f(): return 1\nx = g()\ndef f(): return 2\n",
        "@keep\ndef f(): return 1\ndef f(): return 2\n",
        "def f(): return 1\nif x:\n    def f(): return 2\n",
        "def f(): return 1\nx = f()\ndel f\n",
    ],
)
def test_a_definition_that_may_be_read_before_another_is_taken(before: str) -> None:
    assert b"_upstream_f" in merged(before, "@wrapped(why='w', where='#1')\ndef f(): return upstream()\n")[0]


@pytest.mark.parametrize(
    "before",
    [
        "if TYPE_CHECKING:\n    def f(x): ...\nelse:\n    f = attrgetter('f')\n",
        "if t.TYPE_CHECKING:\n    def f(x): ...\nf = attrgetter('f')\n",
        "if not TYPE_CHECKING:\n    f = attrgetter('f')\nelse:\n    def f(x): ...\n",
    ],
)
@pytest.mark.parametrize("action", ["wrapped", "replaced"])
def test_a_stub_of_type_checkers_is_changed_beside_what_runs(before: str, action: str) -> None:
    where = "else" if "not" in before else f"if {'t.' if 't.' in before else ''}TYPE_CHECKING"
    overlay = f"@{action}(why='w', where='{where}')\ndef f(x): return {'upstream(x)' if action == 'wrapped' else 'x'}\n"
    content, _ = merged(before, overlay)
    running, stub = "f = attrgetter('f')\n", "    def f(x): return "
    assert content.decode().count(running) == content.decode().count(stub) == 1
    names = "TYPE_CHECKING, attrgetter = False, str.upper\nclass t: TYPE_CHECKING = False\n"
    assert run(f"{names}{before}", overlay).f == "F"


def test_decorators_beside_wrapped_are_upstreams_or_refused() -> None:
    before = "class A:\n    @staticmethod\n    def f(x): return 1\n"
    overlay = "class A:\n    @wrapped(why='w')\n    @{}\n    def f(x): return upstream(x)\n"
    assert merged(before, overlay.format("staticmethod"))[0].count(b"@staticmethod") == 1
    refused(
        before,
        overlay.format("cache"),
        "5: upstream's decorators stay on the wrapped `A.f`; `@cache` is none of them;"
        " take the decorator out, or use @replaced",
    )


def test_one_shared_definition_serves_accessors_of_other_names() -> None:
    before = text(PROPERTY).replace("def _", "def _") + text(PROPERTY).replace("class A", "class B").replace(
        "size", "n"
    )
    content, _ = merged(
        before,
        "@wrapped(why='w', targets=['pkg/module.py:A.size[@size.setter]', 'pkg/module.py:B.n[@n.setter]'])\n"
        "def size(self, new): upstream(self, new + 1)\n",
        target="",
    )
    assert b"def size(self, new): __class__._upstream_size_setter(self, new + 1)" in content
    assert b"def n(self, new): __class__._upstream_n_setter(self, new + 1)" in content


# The lock holds what leads to each; what is chosen by number cannot do without it.


@pytest.mark.parametrize(("where", "hard"), [("#2", True), ("else", False)])
def test_the_lock_knows_the_other_definitions(where: str, hard: bool) -> None:
    (operation,) = operations(f"@wrapped(why='w', where={where!r})\ndef f(): return upstream()\n")
    before = contract(Module(PATH, b"if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n"), operation)
    after = contract(
        Module(PATH, b"def f(): return 1\nif b:\n    def f(): return 1\nelse:\n    def f(): return 2\n"), operation
    )
    assert (before.symbol, before.definitions) == (f"f[{where}]", "if a, else")
    assert [str(one) for one in differences(before, after) if one.part == "definitions"] == [
        "definitions (`if a, else` → `#1, if b, else`)"
    ]
    assert ("definitions" in [one.part for one in breaking(before, after)]) is hard
