"""Authoring: makes overlays and changes them, with a driver for each command and one matcher and writer for all."""
