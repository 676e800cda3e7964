"""Checkout: an overlay → a git work tree with one commit for each of its units."""
