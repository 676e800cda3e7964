"""A recipe's options and a user's, as Hydra reads them: run where verl is installed; fails where one differs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser

from npu_recipes.launch.overrides import merged, value_text

VALUES: tuple[Any, ...] = (
    *(True, False, None, 0, -1, 1e-6, 3.0, 0.28),
    *("", "a", "true", "null", "12", "1e-6", "nan", "a b", "a=b", "a,b", "[a]", "{a}", "it's", 'say "so"', "a\\b"),
    *("ends with \\", "\\'", "\\\\'", "$HOME", "-1", "+1", "a:b", "~/data", "/model (new)/x", "数据", "#"),
    *(["console", "file"], [], [1, "2"], {"a": 1}, {"a": ["b"], "c": {"d": None}}),
)
# By what a user gives, what becomes of {a: 1, b: 2} where the recipe gives {a: 9}.
COMPOSED: tuple[tuple[tuple[str, ...], Any], ...] = (
    ((), {"a": 9, "b": 2}),
    (("kw={b:6}",), {"a": 9, "b": 6}),
    (("kw={a:5}", "kw={b:6}"), {"a": 5, "b": 6}),
    (("~kw", "+kw={c:3}"), {"c": 3}),
    (("+kw.x=1", "kw.x=2"), {"a": 9, "b": 2, "x": 2}),
    (("kw=null",), None),
)

if __name__ == "__main__":
    parser = OverridesParser.create()
    for expected in VALUES:
        (override,) = parser.parse_overrides([f"key={value_text(expected)}"])
        found = override.value()
        found = getattr(found, "text", found)
        assert found == expected and type(found) is type(expected), f"{expected!r} became {found!r}"  # noqa: PT018
    with tempfile.TemporaryDirectory() as folder, initialize_config_dir(folder, version_base=None):
        Path(folder, "c.yaml").write_text("kw: {a: 1, b: 2}\n", "utf-8")
        for given, expected in COMPOSED:
            composed = compose("c", merged({"kw": {"a": 9}}, given)).kw
            assert composed == expected, f"{given} became {composed}"
