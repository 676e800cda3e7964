"""The shipped overlays, built, installed and run."""
