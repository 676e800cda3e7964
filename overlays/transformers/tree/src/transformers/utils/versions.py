"""Changes to version checks: they ignore the label of these wheels."""

import re

from npu_overlays.markers import added, edited


@added(
    why="transformers-npu and verl-npu append a label to upstream's version. 5.10.4+npu.1.a8c5b99b is greater than "
    "5.10.4, so a bound such as transformers<=5.10.4 would fail at the pin itself.",
)
def public_version(distribution, version):
    """Return a version without the label of these wheels; versions of other distributions are returned as given."""
    ours = re.fullmatch("(transformers|verl)([-_.]npu)?", distribution, re.IGNORECASE)
    return version.partition("+npu.")[0] if ours else version


@edited(
    ("importlib.metadata.version(pkg)", "public_version(pkg, importlib.metadata.version(pkg))"),
    why="The wheel of 5.10.4 satisfies transformers<=5.10.4 and ==5.10.4, as upstream's does.",
)
def require_version(): ...
