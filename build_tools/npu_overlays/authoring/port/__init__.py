"""Port: an overlay and another state of upstream → what changed for each part of it, and the overlay for that state."""
