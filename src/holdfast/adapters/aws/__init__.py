"""AWS: clients that try each call once, the meaning of refusals, and a module or package a service.

Here belong requests, answers and events as AWS writes them.  What to ask for, and when, is decided by the
parts; their settings become requests in `holdfast.app`.  botocore is imported where a client is made.
"""
