"""Reporting: a comparison → text, JSON, or a page with curves, which matplotlib draws."""
