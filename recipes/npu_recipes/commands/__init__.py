"""Commands: a module holds a sub-command with its arguments, its work and its report; `parser` has the table."""
