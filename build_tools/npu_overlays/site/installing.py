"""Installing: stacks and an index → the page with one command for pip and one for uv, for each stack."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_doctor.stacks import Catalogue, Stack, constraints_name
from npu_overlays.installs import stacks as installs
from npu_overlays.installs.page import note
from npu_overlays.site.languages import Language
from npu_overlays.site.markdown import block, link, words
from npu_overlays.site.shipped import Offer, Patched, Shelf
from npu_summary.page.markup import escape, tag

PAGE = "start"
# Stands in commands for the index of a site that was not told where it will be; its script knows.
PLACEHOLDER = "https://pypi.example.com/"


def install_page(shelf: Shelf, catalogue: Catalogue, language: Language, index: str, *, in_full: bool) -> str:
    """Return the page in Markdown.

    Args:
        shelf: what can be installed.
        catalogue: what belongs to the stacks beside it.
        language: of the page.
        index: address of the index, empty where only the page's reader knows it.
        in_full: whether there is a page that has all of a stack.
    """
    lines = [f"# {language.say('start')}", "", language.say("start_intro"), ""]
    lines += [language.say("before"), ""] if in_full else []
    lines += [note("x86", language.catalogue), ""]
    if not index:
        lines += ["```{container} placeholder", language.say("placeholder", url=PLACEHOLDER), "```", ""]
    lines += [] if shelf.wheels else [language.say("no_wheels"), ""]
    for offer in shelf.offers:
        lines += _offer(offer, wanted(offer, shelf, catalogue), language, index or PLACEHOLDER, in_full=in_full)
    lines += _others(shelf, language, index or PLACEHOLDER)
    if shelf.wheels:
        first = shelf.offers[0].wheels[-1] if shelf.offers else shelf.wheels[0]
        check = f"python -I -m {first.name.replace('-', '_')}_summary --verify"
        lines += [language.say("after"), "", "```bash", check, "```", ""]
    if shelf.missing:
        names = (f"- {words(stack.name)}: {words(stack.title[language.catalogue])}" for stack in shelf.missing)
        lines += [f"## {language.say('elsewhere')}", "", language.say("elsewhere_text"), "", *names, ""]
    return "\n".join(lines)


def stack_link(stack: Stack, depth: int) -> str:
    """Return a link to the commands of a stack, from a page of the same language that lies so many folders deep."""
    return link(stack.name, f"{'../' * depth}{PAGE}.html#{stack_anchor(stack)}")


def commands(names: str, index: str, constraints: str = "") -> tuple[str, str]:
    """Return the command for pip, and the one for uv.

    Args:
        names: what to install, quoted for a shell where needed.
        index: address of the index.
        constraints: name of the constraints file on it; empty for none.
    """
    given = f"-c {index}{constraints} " if constraints else ""
    return (
        f"pip install {given}--extra-index-url {index} {names}",
        f"uv pip install {given}--index {index} {names}",
    )


def wanted(offer: Offer, shelf: Shelf, catalogue: Catalogue) -> str:
    """Return what is asked for to have all of a stack that an index can give, quoted for a shell."""
    extras = [installs.BASE] if installs.extras(offer.stack, catalogue) else []
    extras += [installs.DOCTOR] if shelf.doctor else []
    name = offer.wheels[-1].name
    return f"'{name}[{','.join(extras)}]'" if extras else name


def _offer(offer: Offer, asked: str, language: Language, index: str, *, in_full: bool) -> Iterator[str]:
    stack = offer.stack
    patched = ", ".join(_patched(one) for one in offer.wheels)
    more = f" · {link(language.say('in_full'), f'install.html#{stack_anchor(stack)}')}" if in_full else ""
    yield from (f"## {words(stack.name)}", "", f"{words(stack.title[language.catalogue])}", "")
    yield block(tag("p", f"{escape(language.say('patched'))}: {patched}{more}"))
    yield from _boxes(*commands(asked, index, constraints_name(stack.name)))


def _others(shelf: Shelf, language: Language, index: str) -> Iterator[str]:
    """Yield how wheels are installed that belong to no stack: a stranger's, say."""
    offered = {one.pin for offer in shelf.offers for one in offer.wheels}
    others = [one for one in shelf.wheels if one.pin not in offered]
    if others:
        yield from (f"## {language.say('others')}", "")
    for one in others:
        yield from (
            f"### {words(one.title)}",
            "",
            block(tag("p", f"{escape(language.say('patched'))}: {_patched(one)}")),
        )
        yield from _boxes(*commands(one.pin, index))


def _patched(wheel: Patched) -> str:
    return link(wheel.title, f"changes/{wheel.slug}.html")


def _boxes(pip: str, uv: str) -> Iterator[str]:
    for title, command in (("pip", pip), ("uv", uv)):
        yield from ("```{code-block} text", ":class: command", f":caption: {title}", "", command, "```", "")


def stack_anchor(stack: Stack) -> str:
    """Return what the generator makes of a stack's name as a heading."""
    return re.sub(r"[^a-z0-9]+", "-", stack.name.lower()).strip("-")
