"""Home: all other pages → the page that a newcomer sees first, and the list of all beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npu_doctor.stacks import Stack
from npu_overlays.site.changed import changed_link
from npu_overlays.site.documents import group_pages
from npu_overlays.site.installing import stack_anchor, stack_link
from npu_overlays.site.languages import Language
from npu_overlays.site.markdown import block, link, table
from npu_overlays.site.shipped import Offer, Shelf
from npu_summary.page.markup import escape, tag

_CARDS = {"card_changes": "changes/index.html", "card_install": "start.html", "card_overview": "overview.html"}
_SHOWN = ("cann", "torch", "torch_npu", "vllm", "sglang")  # what tells stacks from each other


def home_page(shelf: Shelf, names: Sequence[str], language: Language) -> str:
    """Return the page in Markdown.

    Args:
        shelf: what is shipped.
        names: all other pages, those below another one left out.
        language: of the page.
    """
    lead = tag("p", escape(language.say("lead")), class_="lead")
    cards = "".join(_card(key, address, language) for key, address in _CARDS.items())
    lines = [f"# {language.say('home')}", "", block(lead + tag("div", cards, class_="cards"))]
    if shelf.offers:
        rows = (_row(offer, language) for offer in shelf.offers)
        lines += [f"## {language.say('your_version')}", "", block(table(language.texts["columns"], rows))]
    for title, group in group_pages(names, language).items():
        lines += ["```{toctree}", ":hidden:", ":maxdepth: 2", f":caption: {title}", ""]
        lines += [_entry(name, language) for name in group]
        lines += ["```", ""]
    return "\n".join(lines)


def drift_page(reports: Sequence[tuple[str, str]], language: Language) -> str:
    """Return the page that lists reports.

    Args:
        reports: title and address of each, below the top of the site.
        language: of the page.
    """
    rows = "".join(tag("li", link(title, language.root(0) + address)) for title, address in reports)
    return f"# {language.say('drift')}\n\n{language.say('drift_intro')}\n\n{block(tag('ul', rows))}"


def _card(key: str, address: str, language: Language) -> str:
    content = tag("b", escape(language.say(key))) + tag("span", escape(language.say(f"{key}_text")))
    return tag("a", content, href=address, class_="card")


def _row(offer: Offer, language: Language) -> Iterator[str]:
    stack = offer.stack
    yield stack_link(stack, 0)
    yield "<br>".join(changed_link(wheel, 0) for wheel in offer.wheels)
    yield escape(", ".join(_parts(stack)))
    yield link(language.say("commands"), f"{_CARDS['card_install']}#{stack_anchor(stack)}")


def _parts(stack: Stack) -> Iterator[str]:
    """Yield what a stack is for."""
    if stack.python:
        yield f"Python {stack.python}"
    for component in filter(None, map(stack.component, _SHOWN)):
        name = component.name.upper() if component.install == "system" else component.name
        yield f"{name} {component.version or component.allow}".strip()


def _entry(name: str, language: Language) -> str:
    title = language.texts["names"].get(name)
    return f"{title} <{name}>" if title else name
