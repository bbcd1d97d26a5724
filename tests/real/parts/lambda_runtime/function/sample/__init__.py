"""A function that does as its event says."""
