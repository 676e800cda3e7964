"""Tests of npu_recipes.runs."""
