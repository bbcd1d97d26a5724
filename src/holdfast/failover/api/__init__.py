"""The HTTP interface of failover as values: what is asked, what is answered, what each refusal means.

Here belong the structs of requests and answers, the table of operations, the codes, and the OpenAPI
document that is made from them.  No HTTP: `holdfast.server` speaks it.
"""
