"""Commands of an operator that change something; each takes --json, and --dry-run where it can be tried."""
