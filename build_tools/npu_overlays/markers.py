"""The vocabulary of merge modules.

A merge module is a Python file under an overlay's ``tree/`` whose path also
exists upstream; it holds only what changes, marked with these names. They are
resolved when the wheel is built and nothing of them reaches it. At run time
they do nothing, so that a merge module can be imported and linted while it is
being written.

Every marker takes:

- ``why``: required, the reason, one sentence for a user of the wheel;
- ``forwarded``: the upstream pull request or issue;
- ``drop_when``: the condition under which the operation can be deleted;
- ``depends``: upstream code that it also depends on, ``("path/of/file.py:symbol", …)``;
  what its text reads is found without being named;
- ``unproven``: why no test can show that it calls the operators it is there for;
- ``accept``: the dangers in it that its author has looked at and lets stand, as
  ``("loss: why that is right",)``;
- ``since`` and ``until``: the first upstream version it is for, and the first
  it is not for any more;
- ``where``: which of several definitions of the name is meant, by what leads to it,
  as upstream writes it (``"@value.setter"``, ``"if sys.version_info >= (3, 11)"``), or
  its number (``"#2"``);
- ``targets``: only in files of an overlay's ``shared/`` folder, the symbols
  (``path/of/file.py:Class.method``) the one definition is applied to, or `like` one model or several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar, overload

T = TypeVar("T")
Definition = Callable[[T], T]
_NOTHING: Any = object()
_NO_EXCEPTIONS: Mapping[str, str] = {}


@overload
def added(
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> Definition[Any]: ...
@overload
def added(
    value: T,
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> T: ...
def added(
    value: Any = _NOTHING,
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> Any:
    """Add a symbol upstream does not have: ``@added(why=…)`` or ``NAME = added(expr, why=…)``."""
    return _unchanged if value is _NOTHING else value


@overload
def replaced(
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> Definition[Any]: ...
@overload
def replaced(
    value: T,
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> T: ...
def replaced(
    value: Any = _NOTHING,
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> Any:
    """Replace a whole definition: ``@replaced(why=…)`` or ``NAME = replaced(expr, why=…)``."""
    return _unchanged if value is _NOTHING else value


def wrapped(
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> Definition[Any]:
    """Wrap a function or method; its body calls ``upstream(…)``, the original with the same arguments.

    Upstream's decorators stay on top and apply to the wrapper; the original is
    kept undecorated under a private name beside it.
    """
    return _unchanged


def edited(
    *edits: tuple[str, str] | tuple[str, str, int],
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
    uses: Sequence[object] = (),
) -> Any:
    """Substitute token sequences inside one symbol: ``@edited(("find", "replace"), …, why=…)``, body ``...``.

    Each find must occur exactly once, or as often as an optional third element
    says; white space and comments do not matter. On a value:
    ``NAME = edited(("find", "replace"), why=…)``. ``uses=[name]`` tells
    linters what an import is for that only a replacement names.
    """
    return _unchanged


def deleted(
    name: str,
    *,
    why: str,
    forwarded: str = "",
    drop_when: str = "",
    depends: Sequence[str] = (),
    unproven: str = "",
    accept: Sequence[str] = (),
    since: str = "",
    until: str = "",
    where: str | Sequence[str] = "",
    targets: Sequence[str] = (),
) -> None:
    """Delete a symbol of the module or class in whose body this stands: ``deleted("name", why=…)``.

    ``deleted("*", why=…)`` deletes everything that the module binds, and leaves it empty.
    """


def like(*models: str, within: str, but: Mapping[str, str] = _NO_EXCEPTIONS, since: str = "", until: str = "") -> str:
    """Stand for models and all upstream definitions of their forms: ``targets=like("path.py:Class.method", within=…)``.

    ``within`` says in which files they are looked for, as a glob. ``but`` names those that are not meant, each with
    the reason. `npu-overlays lock` finds the definitions and lists them in the lock, from which a build takes them.
    In ``targets=[like(…), like(…, until="0.6.0")]`` each says for itself for which versions it is.
    """
    return models[0]


def upstream(*args: Any, **kwargs: Any) -> NoReturn:
    """Stand for the original inside a wrapped definition; replaced by its private name at build time."""
    raise RuntimeError("upstream() has a meaning only in a built wheel, where the original is")


def _unchanged(definition: T) -> T:
    return definition
