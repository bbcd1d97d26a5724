"""A command under a cap, each time in a process of its own: signals, groups, orphans, codes, restarts."""
