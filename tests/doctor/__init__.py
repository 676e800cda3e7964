"""npu-doctor: the machine, what runs on it, and the nodes of a cluster."""
