"""The rules of a patched tree: the tree, and the author of each byte → mistakes that upstream's tree lacks."""
