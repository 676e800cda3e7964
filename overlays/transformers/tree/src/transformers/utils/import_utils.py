"""Changes to the lookup of installed packages: transformers and verl have upstream's version."""

from npu_overlays.markers import upstream, wrapped

from .versions import public_version


@wrapped(
    why="Callers compare this version with bounds. The label of these wheels makes it greater than upstream's, which "
    "would break a bound at the pinned version.",
)
def _is_package_available(pkg_name, return_version=...):
    found = upstream(pkg_name, return_version)
    return (found[0], public_version(pkg_name, found[1])) if return_version else found
