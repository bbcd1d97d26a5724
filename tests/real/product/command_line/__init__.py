"""The command line against a real control plane and EC2."""
