"""What a cluster that is watched changes for a tick: when to wake it, and when to look anew all the same."""
