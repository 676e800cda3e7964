"""Launching: a recipe, a pin and what the user wants otherwise → a command with its environment, run and watched."""
