"""Voluntary disruption: which nodes leave or are replaced by our own choice, when, and how many an hour.

Here belong the windows in which it may happen, nodes that stand empty, underused or dear, and nodes that are
rotated.  How a node is emptied is `scale_down`; how one is replaced first is `interruption`.
"""
