"""The failover server: any number of stateless processes on one database.

Here belong HTTP, tokens, the batching of heartbeats, waking of agents that wait, and the threads that
drive groups.  It decides nothing about roles: that is `holdfast.failover`.  Heartbeats are gathered on the
event loop and stored by one thread; everything else is synchronous code in a small pool of threads.
"""
