"""A crew: what one process would take too long for → the same, done by several."""
