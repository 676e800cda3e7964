"""The summary package that travels inside every wheel."""
