"""What a server remembers of a database beside it."""
