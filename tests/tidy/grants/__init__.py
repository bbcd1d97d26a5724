"""What is granted is what is called, for each part, in AWS and in Kubernetes."""
