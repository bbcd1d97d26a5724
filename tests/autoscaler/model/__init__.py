"""A small fleet as a value: what the proofs of the autoscaler's workflow play in."""
