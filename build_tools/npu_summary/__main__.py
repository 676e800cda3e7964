"""``python -m verl_npu_summary``: the command line."""

from __future__ import annotations

import sys

from .cli import main
from .isolation import look_where_python_would

if __name__ == "__main__":
    look_where_python_would()
    sys.exit(main(sys.argv[1:], package=__package__ or ""))
