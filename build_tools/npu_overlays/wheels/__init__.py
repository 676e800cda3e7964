"""From a patched tree to wheels, and from a wheel back to its statement."""
