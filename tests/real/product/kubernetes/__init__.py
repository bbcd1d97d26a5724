"""The Kubernetes adapter against a real API server: what it asks, and what it makes of the answers."""
