"""Changes to the loading of models' own code: its requirements are checked against upstream's version."""

from npu_overlays.markers import edited

from .utils.versions import public_version


@edited(
    (
        "importlib.metadata.version(package_name)",
        "public_version(package_name, importlib.metadata.version(package_name))",
    ),
    uses=[public_version],
    why="If a model's own code requires transformers<=5.10.4, the wheel of 5.10.4 satisfies it, as upstream's does.",
)
def check_python_requirements(): ...
