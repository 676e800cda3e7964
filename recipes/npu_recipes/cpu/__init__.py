"""Training without an accelerator: a rollout for verl by transformers' own generation.

For trying things out, testing recipes and debugging rewards. It generates slowly and on the CPU, even if the device of
training is another one, and is no engine for real training. It replaces nothing of verl: verl's own registries find it,
and only if a run asks for it (see `plugin`). The platform for the CPU comes with verl-npu.
"""
