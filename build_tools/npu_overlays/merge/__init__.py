"""From a source tree and an overlay's content to the patched tree."""
