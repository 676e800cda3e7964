"""Rivals: one patched wheel, made and installed by us and as others do it, in one run on one machine."""
