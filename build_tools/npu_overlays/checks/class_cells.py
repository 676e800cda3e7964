"""Class cells: methods that use `super()` or ``__class__`` in a class whose metaclass leaves them without."""

from __future__ import annotations

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.model.class_cells import cell_users, lacks_cell


def report_class_cells(context: CheckContext, report: ProblemReport) -> None:
    """Report the first use of a class's cell where Python would refuse to make the class."""
    before, after = context.before.classes, context.after.classes
    for symbol in context.changed_classes():
        users = cell_users(after.node(symbol))
        if users and before.node(symbol) and lacks_cell(before, symbol):
            uses = f"`{symbol.name}.{users[0]}` uses `super()` or `__class__`"
            what = f"{uses}, but its metaclass removes `__classcell__`: Python would not make the class"
            fix = "call the base, or name the class, by its name"
            report.add(context.attribution.changer(symbol, users), what, fix)
