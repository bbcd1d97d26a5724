"""Watches: what a server sends is followed, through every trouble on the way."""
