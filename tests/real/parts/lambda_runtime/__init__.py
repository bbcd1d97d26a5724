"""A handler under the runtime that AWS Lambda itself uses."""
