"""The agent on a machine: it senses, runs the user's hooks, and keeps what is protected inside its lease.

Here belong the shell around `holdfast.failover.agent`, which decides, and the watchdog.
Standard library only: an agent starts beside anything, and is one file if need be.
"""
