"""The instances: capacity, tokens, states and prices, as the stand-in keeps them."""
