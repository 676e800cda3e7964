"""Reports: what a comparison found → text, JSON, or a page with curves, which matplotlib draws."""
