"""What the commands of failover draw for people."""
