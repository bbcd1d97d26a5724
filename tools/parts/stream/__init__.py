"""A stream to play with: kinesis-local, a DynamoDB, and settings for three workers of one app."""
