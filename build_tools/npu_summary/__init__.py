"""What was changed in the installed patched wheels: the summary package that travels inside each of them.

One source, many homes: the build copies these modules into every wheel it
makes (``verl_npu_summary``, ``transformers_npu_summary``), because a wheel may
be installed alone. Hence standard library only, relative imports only, and
nothing imported before it is needed: a summary should cost milliseconds.

Data flows ``installed`` (find ``changes.json`` on the path) -> ``changes``
(read and check one) -> ``layout`` (text), ``yaml``, ``jsontext`` (pure
renderers) -> ``cli`` and ``stream`` (print anywhere). ``verify`` compares the
files with what was built, ``audit`` the running code with the files,
``cluster`` asks every node of a Ray cluster, and ``traceback_marks`` says in
tracebacks which frames are patched code.
"""

from __future__ import annotations

import os


def text() -> str:
    """Return what ``python -m <this package>`` prints, for a program that wants to log it.

    Never raises for a damaged installation: what could not be read is named
    in lines after the summary instead.
    """
    from . import installed, layout  # noqa: PLC0415 - importing the package must stay free

    found = installed.load(installed.places())
    parts = [layout.render(found.changes)] if found.changes else []
    parts += [f"{problem}\n" for problem in found.problems or ([] if found.changes else [installed.NOTHING])]
    return "".join(parts)


def install_traceback() -> None:
    """Mark the frames of patched code, with the reason of each change, in every traceback this process shows.

    ``<DISTRIBUTION>_TRACEBACK=1`` (``VERL_NPU_TRACEBACK`` for verl-npu) does the same in every process that imports
    this package; patched code may do that where it starts, if the variable is set.
    """
    from . import traceback_marks  # noqa: PLC0415 - as above

    traceback_marks.install()


TRACEBACK = f"{__name__.removesuffix('_summary').upper()}_TRACEBACK"

if os.environ.get(TRACEBACK, "") not in {"", "0"}:
    install_traceback()
