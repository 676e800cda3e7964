"""Properties of merging and comparing, over real upstream modules and over generated ones."""
