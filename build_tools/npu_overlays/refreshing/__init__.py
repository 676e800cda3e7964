"""Refreshing: a work tree that was edited → the overlay that gives it."""
