"""The search for schedules that break us: crash schedules, explorer, judges, store contracts, fault proxy.

Here belong tools that look for faults in a workflow or a store of any part.  The world that they and
`holdfast up` share is `holdfast.sim`; test cases are in `tests`.
"""
