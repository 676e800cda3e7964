"""Values as a recipe's options write them, read back by Hydra: run where verl is installed; fails where one differs."""

from __future__ import annotations

from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser

from npu_recipes.launching.overrides import value_text

VALUES: tuple[Any, ...] = (
    *(True, False, None, 0, -1, 1e-6, 3.0, 0.28),
    *("", "a", "true", "null", "12", "1e-6", "nan", "a b", "a=b", "a,b", "[a]", "{a}", "it's", 'say "so"', "a\\b"),
    *("ends with \\", "\\'", "\\\\'", "$HOME", "-1", "+1", "a:b", "~/data", "/model (new)/x", "数据", "#"),
    *(["console", "file"], [], [1, "2"], {"a": 1}, {"a": ["b"], "c": {"d": None}}),
)

if __name__ == "__main__":
    parser = OverridesParser.create()
    for expected in VALUES:
        (override,) = parser.parse_overrides([f"key={value_text(expected)}"])
        found = override.value()
        found = getattr(found, "text", found)
        assert found == expected and type(found) is type(expected), f"{expected!r} became {found!r}"  # noqa: PT018
