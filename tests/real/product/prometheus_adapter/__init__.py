"""The autoscaler's Prometheus adapter, on samples that a real Prometheus scraped."""
