"""Whether the parts of `tools/parts` are what they claim to be; nothing here knows the product.

These tests run when `tools/parts`, they themselves or what they stand on has changed since they last
passed on this machine: see `tools/check_parts.py`.
"""
