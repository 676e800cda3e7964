"""Checking: whether the installed verl accepts a recipe, by that verl's own configuration.

`settings` is about numbers and required options, `composition` about keys and types.
"""
