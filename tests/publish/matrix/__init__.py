"""Tests of CI's cells."""
