"""What a change touches or brings in that fails nowhere when it is wrong: rewards, losses, seeds, swallowed errors."""
