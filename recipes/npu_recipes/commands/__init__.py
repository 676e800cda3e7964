"""Commands: each module is one sub-command, its grammar, its work and its report; `parser` has the table."""
