"""MariaDB and MySQL as a database of failover, by PyMySQL."""
