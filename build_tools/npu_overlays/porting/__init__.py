"""Porting: an overlay and another state of its upstream → what became of everything it depends on, and what to do."""
