"""Sources: a pin → the pinned upstream files, from git, a release archive or a clone, kept in a cache."""
