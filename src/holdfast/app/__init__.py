"""Which adapter serves which port, a package or module a part; and the doctor, which tries them all.

Here settings become clients, requests and stores, and the values of a part become an adapter's own small
configurations.  No decision belongs here: those are the parts'.  No format of another system either: those
are the adapters'.
"""
