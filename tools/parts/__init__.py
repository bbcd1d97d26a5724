"""Real outside systems on loopback: installed once, started for a test, gone after it.

A part is one small file in `catalog/`.  It says how it is installed into the cache
and how it is started in a temporary folder; the rest (progress, locking, free ports,
waiting until it answers, cleaning up after a test that died) is here.  Nothing in
this package knows the product.
"""
