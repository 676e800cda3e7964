"""The cases run inside an environment with torch and the patched wheels; `test_installed.py` starts them."""

collect_ignore = ["cases"]
