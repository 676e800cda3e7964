"""From a patched tree to wheels, and from a wheel back to what it says of itself."""
