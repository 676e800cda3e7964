"""Parity: the installed wheel of each pin of transformers → how far its models are from upstream's, as tables."""
