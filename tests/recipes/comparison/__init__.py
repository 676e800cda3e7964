"""Tests of npu_recipes.comparison."""
