"""Instances that boot: their user data is executed, and only what it brings about joins.

A program follows the EC2 stand-in's log.  An instance that reaches `running` gets a
machine: private namespaces over a copy-on-write view of this computer's files, in which
its user data runs as the shell script it is.  There, `curl` reaches the instance's own
metadata service, `aws` the stand-in, and the k3s installer records what it was told; a
Node appears only for an agent that asked for the right server with the right token.
"""
