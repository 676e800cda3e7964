"""The doctor: is this machine fit to run the patched wheels, and if not, what is to be done?

Data flows ``system`` (files, variables, ``commands``) -> ``ascend`` (with
``smi``) and ``packages`` (what is installed, read from disk) -> ``checks``
(one function for each thing that goes wrong, judged by ``data``) ->
``examine`` (a report) -> ``render``. Nothing examined is imported, but for
``probe``, which does so in a child process.
"""

# Importing the package must stay free: the command line is often asked for something else.
# ruff: noqa: PLC0415

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..cli import Options
    from .model import Report


def diagnose(options: Options) -> Report:
    """Examine this machine.

    Args:
        options: `stack`, `deterministic`, `data` and `no_import` are used.

    Returns:
        What was found.

    Raises:
        DataError: there is no such stack, or a file of data cannot be used.
    """
    from .context import Context
    from .data import load
    from .examine import examine
    from .system import System

    knowledge = load(options.data or ())
    context = Context(
        system=System(),
        knowledge=knowledge,
        stack=knowledge.stack(options.stack) if options.stack else None,
        deterministic=options.deterministic,
        imports=not options.no_import,
    )
    return examine(context)
