"""The doctor: is this machine fit to run the patched wheels, and if not, what is to be done?

Data flows ``system`` (files, variables, commands) -> ``ascend`` and
``packages`` (what is installed, read from disk) -> ``checks`` (one function
for each thing that goes wrong, judged by ``data``) -> ``examine`` (a report)
-> ``render``. ``command`` joins them. Nothing examined is imported, but for
``probe``, which does so in a child process.
"""

from __future__ import annotations


def main(arguments: list[str], package: str) -> int:
    """Run ``--doctor`` and return its exit code."""
    from .command import main as run  # noqa: PLC0415 - importing the package must stay free

    return run(arguments, package)
