"""Pages whose rows name tests."""
