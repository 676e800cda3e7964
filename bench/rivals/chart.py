"""Chart: what each way took → a picture of it."""

from __future__ import annotations

from io import StringIO

import matplotlib as mpl
from matplotlib.figure import Figure

from rivals.page import WayCost

_MAKING, _INSTALLING = "#1f6feb", "#b6c8e4"


def draw(rows: list[WayCost]) -> str:
    """Return a bar for each way, as SVG whose text stays text and which is the same for the same rows."""
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
