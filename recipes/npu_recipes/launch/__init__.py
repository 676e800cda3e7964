"""Launch: a recipe, a pin and what the user wants changed → a command with its environment, run and watched."""
