"""Training without an accelerator: a rollout for verl by transformers' own generation.

For trying things out, testing recipes and debugging rewards. It generates slowly and on the CPU whatever the device of
training is, and is no engine for real training. Of verl nothing is replaced: it is found by verl's own registries, and
only where a run asks for it (see `plugin`). The platform for the CPU comes with verl-npu.
"""
