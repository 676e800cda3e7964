"""Tests of npu_overlays.authoring."""
