"""Frozen: a class with annotated fields → values that are made by keyword, compare by field, and do not change.

So much of `dataclasses` is needed here, and to import that, with `inspect`, is a tenth of a verification.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_how):  # noqa: D103  # type checkers read it, and Python does not
        return lambda kind: kind


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Frozen:
    """What classes of values inherit from; their fields are what they annotate, with the defaults they give them."""

    __annotations__: dict[str, object]

    def __init__(self, **given: object) -> None:
        kind = type(self)
        names = kind.__annotations__
        values = {**{name: vars(kind)[name] for name in names if name in vars(kind)}, **given}
        if values.keys() != names.keys():
            raise TypeError(f"{kind.__name__} takes {', '.join(names)}, not {', '.join(given)}")
        vars(self).update({name: values[name] for name in names})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} of a {type(self).__name__} cannot become {value!r}: it does not change")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == Frozen._values(other)

    def __hash__(self) -> int:
        return hash(tuple(self._values()))

    def __repr__(self) -> str:
        values = zip(type(self).__annotations__, self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in values)})"

    def _values(self) -> list[object]:
        return [vars(self)[name] for name in type(self).__annotations__]
