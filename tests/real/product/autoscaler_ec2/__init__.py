"""The autoscaler's EC2 and SSM adapters on the EC2 stand-in, down to machines that boot and join."""
