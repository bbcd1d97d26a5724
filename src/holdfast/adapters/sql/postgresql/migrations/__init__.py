"""The schema of PostgreSQL: files `0001_what_it_brings.sql`, applied once each, by their numbers."""
