"""Changes to version checks: the label of these wheels does not decide a comparison."""

import re

from npu_overlays.markers import added, edited


@added(
    why="transformers-npu and verl-npu append a label to upstream's version, so that 5.10.4+npu.1.a8c5b99b is greater "
    "than 5.10.4, and a bound at the pin itself, such as transformers<=5.10.4, turned over.",
)
def public_version(distribution, version):
    """Return a version without the label that these wheels append; other distributions' versions stay as they are."""
    ours = re.fullmatch("(transformers|verl)([-_.]npu)?", distribution, re.IGNORECASE)
    return version.partition("+npu.")[0] if ours else version


@edited(
    ("importlib.metadata.version(pkg)", "public_version(pkg, importlib.metadata.version(pkg))"),
    why="A requirement such as transformers<=5.10.4 or ==5.10.4 holds at the pin, as it does with upstream.",
)
def require_version(): ...
