"""Failover in the simulated world: the store, the agents and their wire, the machines, and their judge."""
