"""Pages from the web: fetched under limits, from addresses that may be reached, as text for a model."""
