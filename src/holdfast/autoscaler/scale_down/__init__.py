"""Removing workers: which may leave, the drain, and the end of the machine.

Here belong the pure steps of a scale-down and the rules of a drain.  Whether to scale down is said by
`decide`.
"""
