"""The server's figures: what it did, what is so in the database, and how Prometheus gets both."""
