"""Choice: the patched wheels that are installed and the stacks → the stack that the wheels were built for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_doctor import versions
from npu_doctor.context import Context
from npu_doctor.knowledge import Knowledge
from npu_doctor.model import Level, Row
from npu_doctor.stacks import Stack
from npu_summary import installed


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The stacks that wheels were built for.

    Args:
        wheels: by patched distribution its overlay, of the projects that stacks have overlays of.
        stacks: those that hold all these overlays, the one to take first.
    """

    wheels: Mapping[str, str]
    stacks: Sequence[Stack] = ()


def choose(context: Context) -> Choice:
    """Return the stacks that the installed wheels say they were built for.

    The default stack comes first, then those that fit before those that are kept as they were published; of several
    the one of whose versions most are installed.
    """
    overlays = {name for stack in context.knowledge.stacks for name in stack.overlays}
    projects = {name.partition("@")[0] for name in overlays}
    wheels: dict[str, str] = {}
    for one in installed.load(installed.places(context.system.path))[0]:
        if one["upstream"]["project"] in projects:
            # A site's overlay on top of one of ours counts as that.
            named = (one["overlay"]["name"], *one["overlay"]["layers"])
            wheels[one["distribution"]["name"]] = next((name for name in named if name in overlays), named[0])
    fitting = [stack for stack in context.knowledge.stacks if wheels and set(wheels.values()) <= set(stack.overlays)]
    key = {stack.name: (not stack.default, stack.record, -score(context, stack)) for stack in fitting}
    return Choice(wheels=wheels, stacks=sorted(fitting, key=lambda stack: key[stack.name]))


def mismatch(choice: Choice, knowledge: Knowledge) -> Iterator[Row]:
    """Yield that no stack holds all the wheels, and which stacks there are of each."""
    if not choice.wheels or choice.stacks:
        return
    of_each = {
        overlay: [stack.name for stack in knowledge.stacks if overlay in stack.overlays and not stack.record]
        for overlay in choice.wheels.values()
    }
    there = "; ".join(f"{overlay}: {', '.join(names) or 'no stack'}" for overlay, names in of_each.items())
    # A wheel of an overlay of one's own may well be right, but nothing is known to hold it against.
    level: Level = "broken" if all(of_each.values()) else "compatible"
    yield Row(
        component="stack of the patched wheels",
        level=level,
        found=" with ".join(f"{name} ({overlay})" for name, overlay in choice.wheels.items()),
        expected="wheels of one stack",
        why="they were not built for each other, so they are held against the published tables only",
        fix=f"install both from one stack ({there}), or name the one that is meant with --stack",
        check="stack.wheels",
    )


def score(context: Context, stack: Stack) -> int:
    """Return how many versions of a stack are installed."""
    pins = [(pin.version, context.version(pin.name)) for pin in stack.components if pin.version]
    return sum(bool(found) and versions.same(wanted, versions.public(found)) for wanted, found in pins)
