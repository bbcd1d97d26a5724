"""Whether the Kinesis stand-in shards, pages and refuses as the service does, and the KCL reads from it."""
