"""The simulated cluster: nodes, pods, the controllers that move them, and the load that they make."""
