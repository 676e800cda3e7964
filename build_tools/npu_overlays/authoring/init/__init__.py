"""Init: a project and what of it is pinned → the files of a new overlay."""
