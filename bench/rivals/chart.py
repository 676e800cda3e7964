"""Chart: what each way took → a picture of it."""

from __future__ import annotations

import re
from io import StringIO

import matplotlib as mpl
from matplotlib.figure import Figure

from rivals.page import WayCost, in_chinese

_MAKING, _INSTALLING = "#1f6feb", "#b6c8e4"
_TEXT = re.compile(r"(?<=>)[^<>]+(?=</text>)")
_CHINESE_LABELS = {"seconds": "秒", "to the wheel": "得到 wheel"}


def pictures(rows: list[WayCost]) -> dict[str, str]:
    """Return a bar for each way, as SVG whose text stays text and which is the same for the same rows, by file."""
    english = _draw(rows)
    # No font for Chinese needs to be here: the texts are replaced, and are shorter.
    return {"rivals.svg": english, "rivals.zh-CN.svg": _TEXT.sub(_in_chinese, english)}


def _in_chinese(found: re.Match[str]) -> str:
    return _CHINESE_LABELS.get(found[0]) or in_chinese(found[0])


def _draw(rows: list[WayCost]) -> str:
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rivals", "font.size": 10}):
        figure = Figure(figsize=(8, 0.5 * len(rows) + 1.2), layout="constrained")
        axes = figure.subplots()
        names = [row.name for row in rows]
        making, installing = [row.making for row in rows], [row.installing for row in rows]
        axes.barh(names, making, color=_MAKING, label="to the wheel")
        axes.barh(names, installing, left=making, color=_INSTALLING, label="pip install")
        for row in rows:
            whole = row.making + row.installing
            axes.annotate(f"{whole:.1f} s", (whole, row.name), (4, 0), textcoords="offset points", va="center")
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlabel("seconds")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="lower right", frameon=False)
        picture = StringIO()
        figure.savefig(picture, format="svg", metadata={"Date": None})
    # Editors and checks of style want no blanks at the ends of lines.
    return "\n".join(line.rstrip() for line in picture.getvalue().splitlines()) + "\n"
