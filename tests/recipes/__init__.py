"""Tests of npu-recipes, arranged as its code is."""
