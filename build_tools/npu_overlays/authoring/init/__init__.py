"""Init: a project and its pin → the files of a new overlay."""
