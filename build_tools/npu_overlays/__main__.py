"""``python -m npu_overlays`` is the ``npu-overlays`` command."""

import sys

from npu_overlays.cli import main

sys.exit(main())
