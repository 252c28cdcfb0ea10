"""The embedded local model: known weights, how to fetch and keep them, and the server that runs them."""
