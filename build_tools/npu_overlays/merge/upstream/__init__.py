"""What upstream's functions and classes are like, as far as it decides what may stand beside or in place of them."""
