"""Python source as text, tokens, symbols and fingerprints."""
