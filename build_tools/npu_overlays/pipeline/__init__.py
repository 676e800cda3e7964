"""The pipeline: an overlay and its pin → everything its wheel will hold, or its lock."""
