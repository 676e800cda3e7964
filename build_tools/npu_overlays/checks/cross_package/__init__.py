"""Whether overlays that belong to one stack have what each asks of the others."""
