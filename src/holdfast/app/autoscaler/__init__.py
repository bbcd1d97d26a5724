"""The autoscaler on real systems: its settings become clients, stores, a cloud and a whole tick.

Here belongs what reads `Settings` to choose or to configure an adapter.  Everything is imported where it is
needed: a function that starts for every tick pays for what it uses and for nothing else.
"""
