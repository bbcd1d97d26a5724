"""What the loopback cluster must do like a real one, for everything else to be tested on it."""
