"""Audit: run the patched code's modules, and find every function and class that is not what its file defines.

Verify proves the files; this proves the process. A child process imports what
is asked for (``child``). There ``definitions`` (source -> what it defines) and
``layers`` (an object -> the functions it is made of) meet in ``compare``; the
outcome returns as JSON and becomes a ``report`` here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable

from npu_doctor.audit.report import Audit
from npu_summary import isolation

_TAIL = 2000
_CHILD = "npu_doctor.audit.child"
# A run starts without `-I`: Python then runs the hooks of the user's site and of PYTHONPATH, and so must the child.
# `-P` would keep the current folder out, but Python 3.10 lacks it.
_ELSEWHERE = f"""import runpy, sys
if sys.path[0] == "":
    del sys.path[0]
runpy.run_module("{_CHILD}", run_name="__main__", alter_sys=True)"""


def audit(*, imports: Iterable[str], script: str, arguments: Iterable[str], distributions: Iterable[str]) -> Audit:
    """Import modules or run a script in a child process, and report what was replaced there.

    Args:
        imports: modules to import; none for those that the summaries say were changed.
        script: a program to run first; empty for none.
        arguments: that program's.
        distributions: names of patched distributions; none for all.

    Returns:
        The replacements, and what could not be imported.
    """
    asked = {"imports": list(imports), "script": script, "arguments": list(arguments), "names": list(distributions)}
    with tempfile.TemporaryDirectory(prefix="npu-audit-") as folder:
        answer = os.path.join(folder, "answer.json")  # noqa: PTH118  # pathlib is not imported here
        child = ["-c", _ELSEWHERE] if isolation.options() else ["-m", _CHILD]
        command = [sys.executable, *child, json.dumps(asked), answer]
        # What the modules print is theirs to say, and not part of the report.
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        said = done.stdout.decode("utf-8", "replace")
        try:
            with open(answer, encoding="utf-8") as file:  # noqa: PTH123  # as above
                return Audit.of(json.load(file))
        except (OSError, ValueError):
            reason = f"the child process ended with exit code {done.returncode}: {said[-_TAIL:].strip()}"
            return Audit(modules=0, replacements=(), failures=(), problems=(reason,))
