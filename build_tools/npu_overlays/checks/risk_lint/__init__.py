"""Changes whose mistakes make nothing fail: of rewards, losses, seeds, swallowed errors."""
