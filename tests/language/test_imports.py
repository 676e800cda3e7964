"""Imports of an overlay file, merged into those upstream has."""

from __future__ import annotations

import pytest

from .pairs import check, explain, merged, refused


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "import re\n# added: w\ndef f(): return re\n"),
        ("'''Doc.'''\n", "'''Doc.'''\nimport re\n\n\n# added: w\ndef f(): return re\n"),
        ("'''Doc.'''; import os\n", "'''Doc.'''; import os\nimport re\n\n\n# added: w\ndef f(): return re\n"),
        (
            "#!/bin/x\n# -*- coding: utf-8 -*-\n\nX = 1\n",
            "#!/bin/x\n# -*- coding: utf-8 -*-\nimport re\n\nX = 1\n\n\n# added: w\ndef f(): return re\n",
        ),
    ],
)
def test_where_imports_go_in_a_module_without_any(before: str, after: str) -> None:
    check(before.encode(), "import re\n@added(why='w')\ndef f(): return re\n", after.encode())


@pytest.mark.parametrize(
    "acting",
    [
        "os.environ['NAME'] = '1'",
        "os.environ['NAME'] += '1'",
        "del os.environ['NAME']",
        "os.environ.setdefault('NAME', '1')",
        "sys.path.insert(0, 'there')",
        "warnings = os.flags = 1",
        "path.get().add('there')",
        "start()",
        "if 'NAME' not in os.environ:\n    os.environ['NAME'] = '1'",
        "for name in ('A', 'B'): os.environ[name] = '1'",
        "_ = os.environ.setdefault('NAME', '1')",
        "'NAME' in os.environ or os.environ.setdefault('NAME', '1')",
        "[os.environ.setdefault(name, '1') for name in ('A', 'B')]",
        "env = os.environ\nenv['NAME'] = '1'",
        "if start(): pass",
        "assert start()",
        "setattr(sys, 'there', 1)",
        "vars(sys)['there'] = 1",
        "sys.there, A = 1, 2",
        "(lambda: os.environ.update(NAME='1'))()",
        "with start(): pass",
    ],
)
def test_imports_stand_behind_what_acts_on_upstreams_imports(acting: str) -> None:
    head = f"import os\nfrom x import path, start\nimport sys\n\n{acting}\n"
    overlay = "from pkg.npu import g\n@replaced(why='w')\ndef f(): return g\n"
    tail = "SIZE = 1\ndef f(): return 1\n"
    done = "SIZE = 1\n# replaced: w\ndef f(): return g\n"
    check(f"{head}{tail}", overlay, f"{head}from pkg.npu import g\n{done}")


@pytest.mark.parametrize(
    "between", ["LOG = os.getenv('NAME')", "LOG.level(os.sep)", "LOG[0] = os.sep", "os: int = 1", "'os.flush()'"]
)
def test_imports_stand_above_what_acts_on_nothing_imported(between: str) -> None:
    overlay = "from pkg.npu import g\n@replaced(why='w')\ndef f(): return g\n"
    before = f"import os\n{between}\ndef f(): return 1\n"
    check(before, overlay, f"import os\nfrom pkg.npu import g\n{between}\n# replaced: w\ndef f(): return g\n")


def test_a_merged_import_is_declared_with_what_needs_it() -> None:
    before = b"def f(): pass\ndef g(): pass\n"
    overlay = """
        import re
        @replaced(why="w")
        def f(): return re
        @replaced(why="w")
        def g(): return re
        """
    content, declared = merged(before, overlay)
    assert [(one.symbol, one.reason.why) for one in declared if one.operation == "import"] == [("re", "needed by f, g")]
    assert explain(before, content, declared) == ["added re (import)", "replaced f (replaced)", "replaced g (replaced)"]


@pytest.mark.parametrize(
    "definition",
    [
        "@replaced(why='w')\ndef f(x=re): pass",
        "@replaced(why='w')\ndef f(x: re = 1): pass",
        "@replaced(why='w')\n@re\ndef f(): pass",
        "@replaced(why='w')\ndef f(): return f'{re}'",
        "@replaced(why='w')\ndef f():\n    def g(): return re\n    return g",
        "@edited(('pass', 'return re.x'), why='w')\ndef f(): ...",
        "@edited(('def f():', 'def f(x=re):'), why='w')\ndef f(): ...",
        "@edited(('def f():', 'def f(x=f\"{re}\"):'), why='w')\ndef f(): ...",
        "X = added(re, why='w')",
        "X: re = added(1, why='w')",
    ],
)
def test_names_are_found_wherever_a_definition_uses_them(definition: str) -> None:
    content, _ = merged("def f(): pass\n", f"import re\n{definition}\n")
    assert content.startswith(b"import re\n")


def test_imports_that_cannot_be_merged_are_refused() -> None:
    refused(
        "def f(): pass\n",
        """
        from __future__ import annotations
        from a import *
        import npu_overlays.markers
        from npu_overlays import markers
        from npu_overlays.markers import *
        @replaced(why="w")
        def f(): pass
        """,
        "2: a __future__ import would change all of the upstream module;"
        " take it out: the __future__ imports of upstream's module apply to the overlay's text too",
        "3: `from a import *` does not say which names it imports; import each name that an operation uses",
        "4: `import npu_overlays.markers` does not import the markers; write `from npu_overlays.markers"
        " import NAME, …`",
        "5: `from npu_overlays import markers` does not import the markers; write `from"
        " npu_overlays.markers import NAME, …`",
        "6: `from npu_overlays.markers import *` does not import the markers; write `from"
        " npu_overlays.markers import NAME, …`",
    )
    refused(
        "def f(): pass\n",
        """
        from . import a
        @replaced(why="w", targets=["pkg/module.py:f"])
        def f(): return a
        """,
        "2: a relative import means something else in every target; write the absolute import",
        target="",
    )
