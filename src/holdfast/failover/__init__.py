"""Keeps one primary alive through interruptions, with standby replicas.

Here belong the group's record, the table of roles and the rules of taking over.  All of
it is pure.  The unit of change is the group: two primaries cannot be written down.
"""
