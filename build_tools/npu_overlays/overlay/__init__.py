"""What an overlay says: its configuration, its stack, its files and the operations in them."""
