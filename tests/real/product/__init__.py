"""The product against the real systems."""
