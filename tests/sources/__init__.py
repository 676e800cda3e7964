"""Tests of the sources stage."""
