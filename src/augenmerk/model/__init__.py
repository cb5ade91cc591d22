"""The translator and its exchangeable part, attention."""
