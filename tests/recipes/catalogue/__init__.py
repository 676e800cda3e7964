"""Tests of npu_recipes.catalogue."""
