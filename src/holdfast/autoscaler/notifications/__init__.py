"""What an operator is told without asking: one message when a cause begins, one when it has ended.

Here belong the causes, the record of what was told to which channel, and the workflow that tells it.  It is a
record of its own beside the cluster's: no message is ever in the way of a tick, and none is lost with the
process that was about to send it.
"""
