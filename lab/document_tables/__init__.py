"""Document tables: recipes, stacks and the parsers of the command lines → the tables of docs/."""
