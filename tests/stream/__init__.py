"""The shells of stream workers: live caps, and commands that run under them."""
