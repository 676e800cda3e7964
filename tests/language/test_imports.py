"""Imports of an overlay file, merged into those upstream has."""

from __future__ import annotations

import pytest

from .pairs import check, explain, merged, refused


def test_new_imports_go_behind_the_last_import_before_the_first_definition() -> None:
    check(
        """
        '''Doc.'''
        from __future__ import annotations

        import os
        from x import (
            y,
        )
        if os:
            import z
        X = 1
        def f(): return 1
        import late
        """,
        """
        import re, sys as system
        from a.b import c as d, e
        from ..sibling import g
        @replaced(why="w")
        def f(): return re, system, d, e, g, y
        """,
        """
        '''Doc.'''
        from __future__ import annotations

        import os
        from x import (
            y,
        )
        import re
        import sys as system
        from a.b import c as d
        from a.b import e
        from ..sibling import g
        if os:
            import z
        X = 1
        # replaced: w
        def f(): return re, system, d, e, g, y
        import late
        """,
    )


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


def test_imports_stand_before_the_value_that_needs_them() -> None:
    check(
        "import a\nX = a.b\nimport c\ndef f(): pass\n",
        "import re\nX = replaced(re.X, why='w')\n",
        "import a\nimport re\n# replaced: w\nX = re.X\nimport c\ndef f(): pass\n",
    )
    check(
        "import a\nX = a.b\nimport c\ndef f(): pass\n",
        "import re\nY = added(re.X, why='1')\nX = edited(('a.b', 'Y'), why='2')\n",
        "import a\nimport re\n# added: 1\nY = re.X\n\n# edited: 2\nX = Y\nimport c\ndef f(): pass\n",
    )


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


def test_what_needs_an_import_above_what_acts_has_it_there() -> None:
    check(
        "import os\nSIZE = 1\nos.environ['NAME'] = '1'\n",
        "from pkg.npu import g\nSIZE = replaced(g(), why='w')\n",
        "import os\nfrom pkg.npu import g\n# replaced: w\nSIZE = g()\nos.environ['NAME'] = '1'\n",
    )


def test_imports_stand_behind_operated_imports_and_before_any_definition() -> None:
    check(
        "import os\nimport a\ndef g(): pass\nimport late\nX = 1\n",
        "import re\ndeleted('os', why='1')\nX = replaced(re.X, why='2')\n",
        "# deleted: 1\nimport a\nimport re\ndef g(): pass\nimport late\n# replaced: 2\nX = re.X\n",
    )


def test_what_upstream_has_already_is_not_imported_again() -> None:
    check(
        "import os.path\nfrom a import b as c\nfrom . import d\nimport e as f\ndef g(): pass\n",
        """
        import os
        import os.path
        from a import b as c
        from . import d
        import e as f
        @replaced(why="w")
        def g(): return os, c, d, f
        """,
        "import os.path\nfrom a import b as c\nfrom . import d\nimport e as f\n# replaced: w\n"
        "def g(): return os, c, d, f\n",
    )


def test_parts_of_one_package_can_be_imported_beside_each_other() -> None:
    check(
        "import os, torch\ndef f(): pass\n",
        """
        import torch.nn
        import torch.distributed
        import xml.dom
        import xml.sax
        @replaced(why="w")
        def f(): return torch.nn, torch.distributed, xml.dom, xml.sax
        """,
        "import os, torch\nimport torch.nn\nimport torch.distributed\nimport xml.dom\nimport xml.sax\n# replaced: w\n"
        "def f(): return torch.nn, torch.distributed, xml.dom, xml.sax\n",
    )


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


def test_an_import_that_would_mean_something_else_is_refused() -> None:
    fix = "import it under another name, or, where upstream's own is meant, under `if TYPE_CHECKING:`"
    otherwise = "which pkg/module.py already defines otherwise (line {})"
    refused(
        "import os as re\nfrom a import b\ndef c(): pass\nif x:\n    import d\nimport e\ndef f(): pass\n",
        """
        import re
        from z import b
        import c
        import d as d
        from e import e
        @replaced(why="w")
        def f(): return re, b, c, d, e
        """,
        f"8: `import re` would rebind `re`, {otherwise.format(1)}; {fix}",
        f"8: `from z import b` would rebind `b`, {otherwise.format(2)}; {fix}",
        f"8: `import c` would rebind `c`, {otherwise.format(3)}; {fix}",
        f"8: `import d as d` would rebind `d`, {otherwise.format(5)}; {fix}",
        f"8: `from e import e` would rebind `e`, {otherwise.format(6)}; {fix}",
    )
    refused(
        "def f(): pass\n",
        """
        import a
        from b import a
        @replaced(why="w")
        def f(): return a
        """,
        f"5: `from b import a` would rebind `a`, which `import a` binds as well; {fix}",
    )
    refused(
        "def f(): pass\n",
        """
        from b import a
        import a.c
        @replaced(why="w")
        def f(): return a
        """,
        f"5: `import a.c` would rebind `a`, which `from b import a` binds as well; {fix}",
    )


def test_imports_nobody_uses_are_refused() -> None:
    refused(
        "def f(): pass\n",
        """
        import os
        from a import used, unused
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from b import checked
        @replaced(why="w")
        def f(): return used, x.unused, "os"
        """,
        "1: imported but used by no operation: os, unused; delete the import, or move it under `if TYPE_CHECKING:`",
    )


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
        " take it out: what upstream's module has of it holds for the overlay's text too",
        "3: cannot merge `from a import *`: what it brings is not known; import each name that an operation uses",
        "4: `import npu_overlays.markers` does not import the markers; from npu_overlays.markers import NAME, …",
        "5: `from npu_overlays import markers` does not import the markers; from npu_overlays.markers import NAME, …",
        "6: `from npu_overlays.markers import *` does not import the markers; from npu_overlays.markers import NAME, …",
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
