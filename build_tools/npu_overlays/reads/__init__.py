"""What overlay code reads of upstream, beside what it is written on.

`readings` finds it out from an overlay and its tree, `recorded` makes of that what ``overlay.lock`` keeps, and
`changed_reads` holds what a lock keeps against another tree: what changed there, with each place of the overlay that
reads it.
"""

from npu_overlays.reads.changed import ChangedRead, Place, changed_reads
from npu_overlays.reads.code import called_operators, readers
from npu_overlays.reads.read import Read, Reading, kept, recorded
from npu_overlays.reads.readings import readings, unmet
from npu_overlays.reads.upstream import Upstream

__all__ = [
    "ChangedRead",
    "Place",
    "Read",
    "Reading",
    "Upstream",
    "called_operators",
    "changed_reads",
    "kept",
    "readers",
    "readings",
    "recorded",
    "unmet",
]
