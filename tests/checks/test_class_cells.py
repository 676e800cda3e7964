"""Classes whose metaclass removes ``__classcell__``: wrappers do without, and nothing else may use it."""

from __future__ import annotations

import pytest

from .gate import OWN, CheckedOverlay

_META = "class Meta(type):\n    def __new__(mcs, name, bases, ns):\n        {}\n"
_CLASS = "class Base:\n    def g(self): return 1\nclass A(Base, metaclass=Meta):\n    def f(self): return 1\n"
_DROPPING = [
    "ns.pop('__classcell__', None); return super().__new__(mcs, name, bases, ns)",
    "return type.__new__(mcs, name, bases, {k: v for k, v in ns.items() if k[0] != '_'})",
    "made = {}; made['f'] = ns['f']; return super().__new__(mcs, name, bases, made)",
]
_KEEPING = [
    "return super().__new__(mcs, name, bases, ns)",
    "return super().__new__(mcs, name, bases, {**ns, 'x': 1})",
    "cell = ns.pop('__classcell__'); return super().__new__(mcs, name, bases, {'__classcell__': cell})",
]
_WRAPPED = "class A:\n    @wrapped(why='w')\n    def f(self): return {}upstream(self)\n"


@pytest.mark.parametrize("body", _DROPPING)
def test_what_is_new_uses_no_cell_that_the_metaclass_removes(gate: CheckedOverlay, body: str) -> None:
    upstream = _META.format(body) + _CLASS
    assert gate.merge(upstream, _WRAPPED.format("")) == []
    assert gate.merge(upstream, _WRAPPED.format("super().g() + ")) == [
        (
            f"{OWN}:4: `A.f` uses `super()` or `__class__`, but its metaclass removes `__classcell__`: "
            "Python would not make the class; call the base, or name the class, by its name"
        )
    ]


@pytest.mark.parametrize("body", _KEEPING)
def test_a_metaclass_that_hands_on_the_cell_is_fine(gate: CheckedOverlay, body: str) -> None:
    assert gate.merge(_META.format(body) + _CLASS, _WRAPPED.format("super().g() + ")) == []


def test_upstreams_own_use_shows_that_the_metaclass_hands_it_on(gate: CheckedOverlay) -> None:
    upstream = _META.format(_DROPPING[2]) + _CLASS + "    def h(self): return super().g()\n"
    assert gate.merge(upstream, _WRAPPED.format("super().g() + ")) == []
