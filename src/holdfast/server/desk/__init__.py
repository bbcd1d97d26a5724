"""What each operation does: synchronous functions of a decoded call, on the ports.

Here belong reading, asking the group's rules, committing with the request's id, and the shape of answers.
Who may take which role is decided in `holdfast.failover`.
"""
