"""What differs between two trees, and whether the overlay declared it."""
