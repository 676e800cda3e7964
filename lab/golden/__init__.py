"""The golden corpus: what the tool makes and says, written down, so that a change of its code shows what it changes.

`artefacts` are digests of what every pin gives; `reports` are what `port`, `drift`, `refresh` and `import-patches`
answer on the overlays of this repository; `refusals` are all distinct errors that the tests provoke.
"""
