"""Tests of what CI and a newcomer run."""
