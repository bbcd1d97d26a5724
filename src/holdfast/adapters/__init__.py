"""The platform: AWS, SQL, Kubernetes and Prometheus in their own words, the machine's clock, and logs.

Here belongs what knows another system's format, and which of its answers mean "done", "not done" and
"unknown".  An adapter decides nothing.  It takes a small configuration of its own and the values of
`holdfast.cloud`; of a part it may import the ports and plain values, where it implements a port.  Which
adapter serves which port is said in `holdfast.app`.
"""
