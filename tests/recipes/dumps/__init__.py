"""Tests of npu_recipes.dumps."""
