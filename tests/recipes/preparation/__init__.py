"""Tests of npu_recipes.preparation."""
