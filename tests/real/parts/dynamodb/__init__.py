"""What the product asks of DynamoDB, asked of two imitations that share no code."""
