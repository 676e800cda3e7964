"""What is said of several nodes at once."""
