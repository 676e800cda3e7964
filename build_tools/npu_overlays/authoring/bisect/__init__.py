"""Bisect: an overlay and a command that fails with it → the smallest part of the overlay that makes it fail."""
