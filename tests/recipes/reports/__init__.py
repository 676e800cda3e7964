"""Tests of npu_recipes.reports."""
