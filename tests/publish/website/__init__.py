"""Tests of the site; a package `site` would hide Python's own module."""
