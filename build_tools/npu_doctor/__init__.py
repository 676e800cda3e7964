"""npu-doctor: is this machine fit to run the patched wheels, and is what runs on it what its files define?

Three commands, each with a report of its own:

- ``doctor``: ``system`` (files, variables, ``commands``) -> ``ascend`` and ``packages`` (what is installed, read
  from disk) -> ``checks`` (one function for each thing that goes wrong, judged by ``knowledge``) -> ``examination``
  (a ``report``). Nothing examined is imported, but for ``probe``, which does so in a child.
- ``audit``: what replaced patched code at run time.
- ``cluster``: verification, and the doctor where asked for, on every node of a Ray cluster.
"""
