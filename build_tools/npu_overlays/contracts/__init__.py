"""What an overlay depends on in its pinned upstream."""
