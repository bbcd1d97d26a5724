"""A failover server and three machines to play with: folders, agents and counters on this one machine."""
