"""The NPU code of the overlays, proven on an emulated NPU."""
