"""Reproducibility: one overlay, built under every condition that must not matter → what differs, as a table."""
