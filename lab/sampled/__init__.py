"""Sampled: commits of upstream → whether what `port` proposes for them breaks any of upstream's own tests."""
