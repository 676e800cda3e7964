"""Tests of npu_recipes.launch."""
