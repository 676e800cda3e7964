"""An overlay's content: its configuration, its stack, its files and the operations in them."""
