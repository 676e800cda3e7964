"""``python -m npu_doctor``, and the command ``npu-doctor``."""

from __future__ import annotations

import sys

from npu_doctor.cli import main
from npu_summary.isolation import look_where_python_would


def run() -> int:
    """Run the command line of this process; returns its exit code."""
    look_where_python_would()
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
