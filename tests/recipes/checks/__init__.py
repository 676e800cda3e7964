"""Tests of npu_recipes.checks."""
