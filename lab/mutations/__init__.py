"""Mutations: small wrong changes to the overlays' own code, each of which some test has to catch."""
