"""Tests of npu_recipes.commands."""
