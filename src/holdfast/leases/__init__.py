"""Shares the shards of a stream fairly among workers that come and go.

Here belong the cap on leases, how workers agree on it, and the ports they need.  All of
it is pure.
"""
