"""An empty module: transformers-npu contains the patches that upstream's module makes on import."""

from npu_overlays.markers import deleted

deleted("*", why="transformers-npu contains these patches, so importing verl patches nothing.")
