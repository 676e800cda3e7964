"""The layer of verl: its own modules, and its wheels in an environment with torch."""
