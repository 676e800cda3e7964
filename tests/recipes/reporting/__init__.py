"""Tests of npu_recipes.reporting."""
