"""Dumps: what every module of a model was given and gave in one forward, and where two of them part.

`hooks` records while a model runs, into a file that `storing` lays out; `watching` does so for a program that is not to
be edited. `matching` compares two files, and `blame` says whether a patched wheel changed what is at fault. Only the
first two need torch.
"""
