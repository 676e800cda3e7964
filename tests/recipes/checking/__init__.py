"""Tests of npu_recipes.checking."""
