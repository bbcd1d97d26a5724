"""A cluster that is watched: when a tick is woken, and when it looks anew all the same."""
