"""End to end: real repositories, real builds, real installs."""
