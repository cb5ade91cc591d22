"""Studies: variants x seeds, run by run, compared honestly. What is found is `study.json`, see `result`."""
