"""Watches: objects of a few kinds, followed as they change.

Here belong what a watch sends (`frames`), the objects as they are now (`store`), where a follower stands and
what it asks next (`course`), whether all of it is known to be current (`current`), and the thread that asks
(`follower`).  The first four are pure.  What a change means is said elsewhere.
"""
