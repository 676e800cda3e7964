"""Generated programs: modules that run, overlays of them that import, add, replace, wrap and edit, and what both do.

The few names are builtins, names of a star import and upstream's own at once, so that they meet in every way. `TAG`
says where what it is given comes from; `R` takes what happens while the module is imported.
"""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass

from hypothesis import strategies as st

NAMES = ["max", "len", "f", "g", "helper", "device"]
_STARRED = ["helper", "max"]
_BINDINGS = [
    "{n} = 1",
    "for {n} in [2]: pass",
    "with CONTEXT() as {n}: pass",
    "({n} := 3)",
    "[{n} := x for x in [4]]",
    "match 5:\n    case {n}: pass",
    "match 6:\n    case 6:\n        def {n}(): return ['case']",
    "try: raise ValueError\nexcept ValueError as {n}: pass",
    "try: del {n}\nexcept NameError: pass",
    "def setter():\n    global {n}\n    {n} = 7\n    return []",
    "import up\ndef late():\n    global {n}\n    from up import {n}\n    return []\nlate()",
    "from up import *",
    "from up import {n}",
    "if R is None:\n    from npu import {n}",
    "from npu import {n}",
    "class {n}:\n    pass",
]
_READS = ["TAG({n})", "(lambda: TAG({n}))()", "[TAG({n}) for _ in [0]][0]", "f'{{TAG({n})}}'"]
_LOCALS = ["{n} = 8", "for {n} in [9]: pass", "import {n}", "def {n}(): pass"]
_name = st.sampled_from(NAMES)


@dataclass(frozen=True, kw_only=True)
class OverlayProgram:
    """An overlay's text, what its code means by each name, and the symbols it operates on."""

    text: str
    meant: dict[str, str]
    touched: frozenset[str]


def _reads(names: list[str], forms: list[str]) -> str:
    return "".join(
        f"    try: out.append({form.format(n=name)})\n    except NameError: out.append('missing')\n"
        for name, form in zip(names, forms, strict=True)
    )


@st.composite
def _function(draw: st.DrawFn, name: str, *, first: str = "", local: bool = True) -> str:
    names = draw(st.lists(_name, max_size=3))
    body = _reads(names, [draw(st.sampled_from(_READS)) for _ in names])
    binding = draw(st.sampled_from(["", "", *_LOCALS])) if local else ""
    parameter = draw(st.sampled_from(["", "", *(f"{one}=0" for one in NAMES)])) if local else ""
    parameters = ", ".join(filter(None, [first, parameter]))
    inner = f"    if not out: {binding.format(n=draw(_name))}\n" if binding and binding.startswith("{n}") else ""
    return f"def {name}({parameters}):\n    out = ['{name}']\n{body}{inner}    return out\n"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@st.composite
def _class(draw: st.DrawFn) -> str:
    name, other = draw(_name), draw(_name)
    parts = [
        draw(st.sampled_from(["", f"{name} = 10\n"])),
        draw(st.sampled_from(["", f"try: seen = TAG({other})\nexcept NameError: seen = 'missing'\n"])),
        draw(st.sampled_from(["", f"def __init__(self): self.{name} = 11\n"])),
        draw(_function("m", first="self")),
        "D = 12\n",
    ]
    return "class A:\n" + "".join(map(_indented, parts))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Draw the text of a module that can be imported."""
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["function", "binding", "read", "call"]))
        name = draw(st.sampled_from([*NAMES[:2], *NAMES[-2:], *NAMES]))
        if kind == "function":
            parts.append(draw(_function(name)))
        elif kind == "binding":
            parts.append(draw(st.sampled_from(_BINDINGS)).format(n=name) + "\n")
        elif kind == "read":
            parts.append(f"try: R.append(TAG({name}))\nexcept NameError: R.append('missing')\n")
        else:
            parts.append(f"if callable(globals().get('{name}')): CALL('{name}', {name})\n")
    for part in (_class(), _function("f"), _function("g")):
        parts.insert(draw(st.integers(0, len(parts))), draw(part))
    return draw(st.sampled_from(["", '"""Doc."""\n', "import up\n"])) + "".join(parts)


@st.composite
def overlays(draw: st.DrawFn) -> OverlayProgram:
    """Draw an overlay; whether it fits is another question."""
    imported = {name: draw(st.sampled_from(["npu", "npu", "up"])) for name in draw(st.sets(_name, max_size=2))}
    added = draw(st.sets(_name.filter(lambda name: name not in imported), max_size=1))
    meant = {name: f"{module}:{name}" for name, module in imported.items()} | {name: f"added:{name}" for name in added}
    symbols = draw(st.sets(st.sampled_from(["f", "g", "A.m", "A.D", "A.extra"]), min_size=1, max_size=3))
    module = [draw(_operation(symbol, sorted(meant))) for symbol in sorted(symbols) if "." not in symbol]
    module += [f"@added(why='w')\ndef {name}():\n    'added'\n    return []\n" for name in sorted(added)]
    members = [draw(_operation(symbol, sorted(meant))) for symbol in sorted(symbols) if "." in symbol]
    head = "from npu_overlays.markers import added, edited, replaced, upstream, wrapped\n"
    head += "".join(f"from {source} import {name}\n" for name, source in sorted(imported.items()))
    body = draw(st.permutations(module + (["class A:\n" + "".join(map(_indented, members))] if members else [])))
    return OverlayProgram(text=head + "".join(body), meant=meant, touched=frozenset(symbols) | added)


@st.composite
def _operation(draw: st.DrawFn, symbol: str, names: list[str]) -> str:
    name = symbol.rpartition(".")[2]
    reads = _reads(names, [draw(st.sampled_from(_READS)) for _ in names])
    listed = "".join(f", TAG({one})" for one in names)
    first = "self" if "." in symbol else ""
    if name == "D":
        return f"D = replaced([{listed[2:]}], why='w')\n"
    if name == "extra":
        return f"@added(why='w')\ndef extra(self):\n    out = []\n{reads}    return out\n"
    wrapper = f"def {name}({first}):\n    out = []\n{reads}    upstream({first})\n    return out\n"
    return draw(
        st.sampled_from(
            [
                f"@replaced(why='w')\ndef {name}({first}):\n    out = []\n{reads}    return out\n",
                f"@wrapped(why='w')\n{wrapper}",
                f"@edited((\"out = ['{name}']\", \"out = ['{name}'{listed}]\"), why='w')\ndef {name}(): ...\n",
            ]
        )
    )


def _tag(value: object) -> str:
    if isinstance(value, (types.FunctionType, types.MethodType)):
        return f"{value.__doc__ or 'own'}:{value.__name__}"
    if isinstance(value, types.BuiltinFunctionType):
        return f"builtin:{value.__name__}"
    return f"class:{value.__name__}" if isinstance(value, type) else repr(value)


def _nothing() -> list[object]:
    return []


def _provider(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    for one in NAMES:
        function = types.FunctionType(_nothing.__code__, {}, one)
        function.__doc__ = name
        setattr(module, one, function)
    module.__dict__["__all__"] = _STARRED
    return module


class _Context:
    def __enter__(self) -> int:
        return 13

    def __exit__(self, *_: object) -> None:
        pass


def outcome(content: bytes) -> dict[str, object]:
    """Return what a module does: while it is imported, ``name number`` what was called then, by symbol what it has."""
    module = types.ModuleType("program")
    called: dict[str, object] = {}
    given = {
        "TAG": _tag,
        "R": [],
        "CONTEXT": _Context,
        "CALL": lambda name, one: called.update({f"{name} {len(called)}": _result(one)}),
    }
    module.__dict__.update(given)
    sys.modules.update(up=_provider("up"), npu=_provider("npu"))
    try:
        exec(compile(content, "program.py", "exec"), module.__dict__)  # noqa: S102  # the test's own text
        found: dict[str, object] = {"R": module.__dict__["R"], **called}
        found |= {name: _shown(module.__dict__[name]) for name in NAMES if name in module.__dict__}
        instance = module.__dict__["A"]()
        members = {name for name in (*dir(instance), "extra") if not name.startswith("_")}
        found |= {f"A.{name}": _shown(getattr(instance, name, None)) for name in members}
    finally:
        del sys.modules["up"], sys.modules["npu"]
    return found


def _shown(value: object) -> object:
    return _result(value) if isinstance(value, (types.FunctionType, types.MethodType)) else _tag(value)


def _result(function: object) -> object:
    assert callable(function)
    try:
        given = function()
    except TypeError as error:
        return repr(error)
    return (_tag(function), given if isinstance(given, list) else type(given).__name__)
