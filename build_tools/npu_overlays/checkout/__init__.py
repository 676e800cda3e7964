"""Checkout: an overlay → a git work tree with one commit for each thing it says, and back."""
