"""The simulated world, in which the shipped code runs."""
