"""The command line: one module a command, which holds its grammar, its work and its report."""
