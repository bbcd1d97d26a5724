"""Failover on real databases, real processes and a real Prometheus."""
