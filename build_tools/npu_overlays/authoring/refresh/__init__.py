"""Refresh: an edited work tree → the overlay that gives it."""
