"""The audit: what has been replaced at run time is found, with who did it; nothing else is reported."""
