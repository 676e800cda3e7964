"""Import of patches: a folder of patches that a team applies by hand → an overlay that gives the same tree."""
