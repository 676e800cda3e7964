"""Random wrappers and changes of upstream's parameters: a wrapper that follows passes upstream the values it passed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_overlays.authoring.port.renamed_words import UnprovenError

from .test_adaptation import followed

ROLES = ("a", "b", "c")
FIRST = (
    "",
    "",
    "{0} = {0} * 10",
    "{0} *= 10",
    "seen.append({0})",
    "import os as {0}",
    "class {0}: pass",
    "for {0} in (7,): pass",
    "if {0} > 1: {1} = 0",
    "try: raise KeyError\n    except KeyError as {0}: pass",
    "match [7]:\n        case [{0}]: pass",
    "{1} = [{0} for {0} in (7,)][0]",
    "if 'n' in {{**locals(), 'kw': 0}}: {0} = 7",
    "{0} = 7 if rest else {0}",
)
RESULTS = ("return upstream({})", "return upstream({})", "result = upstream({})\n    return result")
followers: Counter[bool] = Counter()


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """Upstream's function: what each of its parameters is for, by their names, and its text.

    Args:
        names: the parameters in order, each with its role.
        rest: whether it takes ``**rest``.
    """

    names: dict[str, str]
    rest: bool

    @property
    def text(self) -> str:
        roles = sorted((role, name) for name, role in self.names.items())
        passed = ", ".join(f"{role.upper()}={name}" for role, name in roles)
        return f"def f({self.parameters}):\n    return dict({passed}{', **rest' if self.rest else ''})\n"

    @property
    def parameters(self) -> str:
        return ", ".join([*self.names, *(["**rest"] if self.rest else [])])

    def result(self, wrapper: str, values: dict[str, int]) -> dict[str, object]:
        """Return what a wrapper passes for each role, called with the values of the roles."""
        space: dict[str, Any] = {"seen": []}
        exec(self.text, space)  # noqa: S102  # the text above
        space["upstream"] = space["f"]
        exec(wrapper, space)  # noqa: S102  # likewise
        named = {name: values[role] for name, role in self.names.items()}
        more = {"n": values["n"]} if self.rest and "n" not in self.names else {}
        found = space["f"](**named, **more)
        # A module or a class has a name, and is another one each time.
        return {role.lower(): getattr(value, "__name__", value) for role, value in found.items()}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Upstream, Upstream, str]:
    """Draw upstream's function before and after a change, and a wrapper of the first."""
    before = Upstream(names={one: one for one in ROLES[: draw(st.integers(1, 3))]}, rest=draw(st.booleans()))
    own = list(before.names)
    renamed = draw(st.sampled_from([{}, {}, {own[0]: "x"}, dict(zip(own, [*own[1:], own[0]], strict=True))]))
    after = {renamed.get(one, one): one for one in draw(st.one_of(st.just(own), st.permutations(own)))}
    if draw(st.booleans()) and len(after) > 1:
        after.pop(draw(st.sampled_from(list(after))))
    if draw(st.booleans()):
        after = draw(st.sampled_from([{"n": "n", **after}, {**after, "n": "n"}]))
    return before, Upstream(names=after, rest=before.rest), draw(wrappers(before))


@st.composite
def wrappers(draw: st.DrawFn, upstream: Upstream) -> str:
    """Draw a wrapper; most do little."""
    names = draw(st.lists(st.sampled_from([*upstream.names, "x", "n"]), min_size=2, max_size=2))
    texts = [draw(st.sampled_from([one, one, one, f"{one} * 10", "3"])) for one in upstream.names]
    by_name = draw(st.integers(0, len(texts)))
    passed = [*texts[:by_name]]
    passed += [f"{one}={text}" for one, text in zip(list(upstream.names)[by_name:], texts[by_name:], strict=True)]
    passed += ["**rest"] if upstream.rest and draw(st.integers(0, 3)) else []
    lines = [draw(st.sampled_from(FIRST)).format(*names), draw(st.sampled_from(RESULTS)).format(", ".join(passed))]
    body = "".join(f"    {line}\n" for line in filter(None, lines))
    return f"def f({upstream.parameters}):\n{body}"


@settings(max_examples=400, deadline=None)
@given(cases(), st.permutations([2, 3, 4, 5]))
def _check(case: tuple[Upstream, Upstream, str], numbers: list[int]) -> None:
    before, after, wrapper = case
    if before == after:
        return
    values = dict(zip([*ROLES, "n"], numbers, strict=True))
    try:
        old = before.result(wrapper, values)
    except (NameError, TypeError):  # a wrapper that does not work
        return
    try:
        made = followed(wrapper, before.text, after.text)
    except UnprovenError:
        followers[False] += 1
        return
    followers[True] += 1
    new = after.result(made, values)
    for role in after.names.values():
        assert new[role] == old.get(role, values[role]), made


def test_a_wrapper_that_follows_passes_the_values_it_passed() -> None:
    followers.clear()
    _check()
    assert min(followers[True], followers[False]) > 25, followers
