"""The writer: operations and settings → the text of merge modules and of configurations, all else in them kept."""
