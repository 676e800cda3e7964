"""Checks of a patched tree: what each refuses, and what it lets be."""
