"""Two trees compared, and what they show held against what the overlay declares."""
