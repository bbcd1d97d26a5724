"""EC2 on loopback: moto's wire formats, and around them what moto lacks.

A program of its own, run in moto's environment (`python -m tools.parts.ec2`).  One
lock is held over every call, so that tokens, capacity and states are never seen half
changed.  `moto_app` is the only file that knows moto; nothing here knows the product.
"""
