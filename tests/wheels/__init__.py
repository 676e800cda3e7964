"""Wheels that were built, held against themselves."""
