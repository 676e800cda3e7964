"""Drawing: a metric that was measured → its curves and their relative error, as an SVG whose colours a page chooses.

matplotlib knows no colours that depend on the reader's: it draws with some that stand for their names, and those become
CSS variables. Text stays text, in the page's own font.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from npu_recipes.comparison.curves import MeanCurve
from npu_recipes.comparison.judgement import Judged
from npu_recipes.runs.series import Steps, Values

_STANDING_FOR = {"text": "#010101", "grid": "#020202", "reference": "#030303", "run": "#040404", "limit": "#050505"}
_SETTINGS: dict[Any, Any] = {  # of matplotlib's many names, each with its own type
    "svg.fonttype": "none",
    "font.size": 9.0,
    "text.color": _STANDING_FOR["text"],
    "axes.edgecolor": _STANDING_FOR["grid"],
    "axes.labelcolor": _STANDING_FOR["text"],
    "xtick.color": _STANDING_FOR["text"],
    "ytick.color": _STANDING_FOR["text"],
    "grid.color": _STANDING_FOR["grid"],
    "path.simplify": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
# With numbers that are larger, the distances between them are no numbers any more.
_LARGEST = 1e300
# More points than that are not seen on a screen.
_BUCKETS = 500


def picture(one: Judged) -> str:
    """Return the curves of a metric above their relative error, as an ``<svg>`` element."""
    with rc_context():
        rcdefaults()  # what somebody prefers for figures of their own must not change a report
        rcParams.update({**_SETTINGS, "svg.hashsalt": one.metric})
        figure = Figure(figsize=(7.2, 3.4))
        # Fixed: a layout that is computed takes longer than all else.
        figure.subplots_adjust(left=0.09, right=0.99, top=0.92, bottom=0.13, hspace=0.12)
        curves, errors = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _curve(curves, one.reference, "reference", "reference")
        _curve(curves, one.run, "run", "run")
        _errors(errors, one)
        curves.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 0.98), borderpad=0)
        for axes in (curves, errors):
            axes.grid(visible=True, alpha=0.6, linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
        # Most of the time goes into ticks.
        errors.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        curves.yaxis.set_major_locator(MaxNLocator(4))
        errors.yaxis.set_major_locator(MaxNLocator(3))
        content = io.StringIO()
        # `savefig` draws everything twice, to find out what it needs not know here.
        draw: Any = FigureCanvasSVG(figure).print_svg  # which has no types
        draw(content, metadata={"Date": None})
    return _for_a_page(content.getvalue())


def _curve(axes: Axes, curve: MeanCurve, colour: str, label: str) -> None:
    own = _STANDING_FOR[colour]
    steps, values = thinned(curve.steps, _drawable(curve.mean))
    marker = "." if len(steps) <= _BUCKETS / 10 else "None"
    axes.plot(steps, values, color=own, linewidth=1.3, label=label, marker=marker, markersize=4.0)
    if curve.spread is not None and len(curve.steps) <= 2 * _BUCKETS:
        mean, spread = _drawable(curve.mean), _drawable(curve.spread)
        axes.fill_between(curve.steps, mean - spread, mean + spread, color=own, alpha=0.18, linewidth=0)


def _errors(axes: Axes, one: Judged) -> None:
    steps, errors = thinned(one.aligned.steps, _drawable(one.aligned.error))
    limit = min(one.threshold, _LARGEST)
    axes.plot(steps, errors, color=_STANDING_FOR["run"], linewidth=0.9)
    axes.axhspan(0, limit, color=_STANDING_FOR["limit"], alpha=0.16, linewidth=0)
    axes.axhline(limit, color=_STANDING_FOR["limit"], linewidth=1.0, linestyle="--")
    for broken in one.aligned.steps[np.isposinf(one.aligned.error)][:_BUCKETS]:
        axes.axvline(broken, color=_STANDING_FOR["limit"], linewidth=0.8)
    # A few steps far away must not hide what the others do.
    usual = errors[np.isfinite(errors)]
    top = max(2.5 * limit, 1.2 * float(np.quantile(usual, 0.98))) if len(usual) else 1.0
    axes.set_ylim(0, top or 1.0)
    axes.set_ylabel("relative error")
    axes.set_xlabel("step")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))


def _drawable(values: Values) -> Values:
    """Return values with gaps for those that are not finite, and with larger ones cut to the largest drawable."""
    return np.clip(np.where(np.isfinite(values), values, np.nan), -_LARGEST, _LARGEST)


def thinned(steps: Steps, values: Values) -> tuple[Steps, Values]:
    """Return so many points that a screen can show them: of each stretch the lowest and the highest."""
    if len(steps) <= 2 * _BUCKETS:
        return steps, values
    kept: list[int] = []
    for stretch in np.array_split(np.arange(len(steps)), _BUCKETS):
        known = stretch[np.isfinite(values[stretch])]
        if len(known):
            kept += sorted({int(known[values[known].argmin()]), int(known[values[known].argmax()])})
        else:
            kept.append(int(stretch[0]))
    return steps[kept], values[kept]


def _for_a_page(document: str) -> str:
    """Return the element of an SVG document: without its prologue, with the page's colours and font."""
    element = document[document.index("<svg") :]
    for name, colour in _STANDING_FOR.items():
        element = element.replace(colour, f"var(--{name})")
    # Groups are numbered in every picture alike, and a page may have each identifier once.
    element = re.sub(r'<g id="[a-z]+_?\d+(?:_\d+)*">', "<g>", element)
    element = re.sub(r"font-family: [^;\"]*", "font-family: var(--font)", element)
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    for side in ("height", "width"):
        element = re.sub(rf'(<svg [^>]*?) {side}="[^"]*"', r"\1", element, count=1)
    return element
