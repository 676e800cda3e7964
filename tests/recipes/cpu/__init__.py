"""Tests of npu_recipes.cpu."""
