"""Checking: is a recipe one that the installed verl takes? Asked of that verl's own configuration, not of ours.

`sizes` is about numbers that have to divide others, `composition` about keys and types.
"""
