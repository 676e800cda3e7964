"""The installed wheel proves itself: intact installations pass, every kind of damage is found."""
