"""Explanation: the module in a companion that says on import where the patched package is.

An index with a companion serves it to everybody who installs upstream by name. If the patched package is installed,
Python imports its folder and ignores the module beside it. If not, the module says what to do, instead of Python's "no
such module".
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

_MODULE = '''\
"""Not {top} itself: the patched package is in {distribution}, beside which Python never reads this file."""

raise ImportError(
    """{project} {version} holds no file of {project}: {distribution} does, and is missing (or later on sys.path).
To install it:        python -m pip install {distribution}=={version}
For upstream's own:   {upstream}""",
    name=__name__,
    path=__file__,
)
'''


def explanations(project: str, version: str, distribution: str, places: Iterable[str]) -> dict[str, bytes]:
    """Return the modules of a companion by their place in the wheel.

    Args:
        project: upstream's name.
        version: the companion's version and that of the patched distribution.
        distribution: the patched distribution's name.
        places: where the files of the patched packages lie. A namespace, and what is a single module, has no
            explanation: Python would take the module in its stead.
    """
    tops = sorted(place.removesuffix("/__init__.py") for place in places if _is_package(place))
    return {f"{top}.py": explanation(project, version, distribution, top) for top in tops}


def explanation(project: str, version: str, distribution: str, top: str) -> bytes:
    """Return the module that says, under the import name `top`, where the patched package is."""
    release = Version(version)
    # A local version satisfies `==`; only `===` asks for upstream's. Of a commit no index has anything.
    upstream = f"python -m pip install '{project}==={release.public}'"
    if release.is_devrelease:
        upstream = f"python -m pip uninstall {project}, and install the release that you want"
    said = _MODULE.format(top=top, project=project, version=version, distribution=distribution, upstream=upstream)
    return said.encode()


def _is_package(place: str) -> bool:
    return place.count("/") == 1 and place.endswith("/__init__.py")
