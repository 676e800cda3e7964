"""Tests of `npu_overlays.site`; a package `site` would hide Python's own module."""
