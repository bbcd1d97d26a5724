"""What an agent thinks: its goals, its lease, and what it does next.

All of it is pure: time is an argument, and the world is heard of and acted upon through
values.  `holdfast.agent` runs it on a machine, and the simulated world runs the same.
It imports nothing but the standard library, because an agent starts beside anything.
"""
