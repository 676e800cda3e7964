"""Properties of upstream's functions and classes that decide what may wrap or replace them."""
