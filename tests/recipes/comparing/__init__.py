"""Tests of npu_recipes.comparing."""
