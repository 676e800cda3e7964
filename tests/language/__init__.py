"""The overlay language: before/after pairs, refusals, and what the trees show of both."""
