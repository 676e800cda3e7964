"""Changes to code that comes with models: what it requires of transformers is compared with upstream's version."""

from npu_overlays.markers import edited

from .utils.versions import public_version


@edited(
    (
        "importlib.metadata.version(package_name)",
        "public_version(package_name, importlib.metadata.version(package_name))",
    ),
    uses=[public_version],
    why="The requirements.txt of a model's own code may ask for transformers<=5.10.4; at the pin that holds, as with "
    "upstream.",
)
def check_python_requirements(): ...
