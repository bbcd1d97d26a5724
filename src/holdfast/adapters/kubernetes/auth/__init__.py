"""Signing in to an API server: by a token kept elsewhere, by kubeconfig, or as a pod.

Here belong the ways in (`sign_in`), what the operator says about them (`cluster_access`), kubectl's
file (`kubeconfig`) and the commands that it names (`exec_plugin`), certificates and addresses
(`trust`), and what all of it comes to (`access`).  No request to the API server is made here, and
nothing is decided about what to ask of it.
"""
