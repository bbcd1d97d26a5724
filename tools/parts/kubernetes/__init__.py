"""What a started cluster is made of: command lines, credentials, a client, node objects.

`controlplane/` and `kwok/` hold the pinned Go modules that the parts are built from.
"""
