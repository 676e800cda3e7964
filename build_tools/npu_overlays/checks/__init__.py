"""What must hold of a patched tree: the tree, and who wrote what in it → the mistakes that upstream's does not have."""
