"""A place to install from: wheels and sdists → a folder of pages that pip and uv read."""
