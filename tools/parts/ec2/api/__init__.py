"""The calls: what comes in over HTTP, who answers it, and how it is refused."""
