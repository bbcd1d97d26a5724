"""Scales up and down the worker nodes of a cluster.

Here belong the cluster's record, the decisions about it and the ports they need.  All of
it is pure: no clock, no network, no cloud library.  What talks to the world is an adapter.
"""
