"""Preparing: what a recipe trains on, as verl reads it: parquet files, and for trying things out a tiny model."""
