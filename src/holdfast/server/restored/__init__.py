"""What a server remembers of its database, beside it: how far it had come, and which members it knew.

A database that was restored from the past is recognised by the one; members that it has lost are named by the
other.
"""
