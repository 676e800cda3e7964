"""Tests of npu_recipes.preparing."""
