"""Dumps: what every module of a model was given and gave in one forward, and where two of them part.

`hooks` records while a model runs, into a `dump_file`; `watch` does so for a program that nobody edits. `match`
compares two files, and `fault` names the module at fault and says whether a patched wheel changed it. Only `hooks`,
`tensors` and `watch` need torch.
"""
