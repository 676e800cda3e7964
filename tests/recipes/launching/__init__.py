"""Tests of npu_recipes.launching."""
