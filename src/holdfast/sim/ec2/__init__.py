"""The simulated cloud: machines, capacity, prices and notices, with EC2's own limits."""
