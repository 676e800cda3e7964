"""Authoring: what makes overlays, or follows upstream with them, beside what builds them."""
