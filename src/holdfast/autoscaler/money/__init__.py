"""What the fleet costs: by node, pool, namespace and workload, what spot saves, and what is paid in vain.

Here belong shares of a node's price, and the ledger of the months, a record of its own beside the cluster's.
"""
