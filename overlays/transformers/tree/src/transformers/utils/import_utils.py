"""Changes to look-ups of installed packages: the version of transformers and verl is upstream's."""

from npu_overlays.markers import upstream, wrapped

from .versions import public_version


@wrapped(
    why="Callers compare the version they get; the label of these wheels makes it greater, so that a bound at the pin "
    "itself turned over.",
)
def _is_package_available(pkg_name, return_version=...):
    found = upstream(pkg_name, return_version)
    return (found[0], public_version(pkg_name, found[1])) if return_version else found
