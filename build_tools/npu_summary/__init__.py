"""What was changed in the installed patched wheels: the summary package that travels inside each of them.

One source, many homes: the build copies these modules into every wheel it
makes (``verl_npu_summary``, ``transformers_npu_summary``), because a wheel may
be installed alone. Hence standard library only, relative imports only, and
nothing imported before it is needed, pathlib and typing among it: a summary
should cost milliseconds.

Data flows ``installed`` (find ``changes.json`` on the path) -> ``changes``
(read and check one) -> ``outline`` (what a person is shown, and why it was
done) -> ``layout`` (text), ``yaml``, ``jsontext``, ``page`` (renderers) ->
``cli`` and ``stream`` (print anywhere). ``verify`` compares the files with
what was built, ``explain`` marks the frames of changed code in the tracebacks
of a log.
"""

from __future__ import annotations


def text() -> str:
    """Return what ``python -m <this package>`` prints, for a program that wants to log it.

    Never raises for a damaged installation: what could not be read is named
    in lines after the summary instead.
    """
    from . import installed, layout

    changes, problems = installed.load(installed.places())
    parts = [layout.render(changes)] if changes else []
    parts += [f"{problem}\n" for problem in problems or ([] if changes else [installed.NOTHING])]
    return "".join(parts)
