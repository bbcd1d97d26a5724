"""PostgreSQL as a database of failover, by psycopg 3."""
