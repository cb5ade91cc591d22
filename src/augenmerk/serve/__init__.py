"""`augenmerk serve`: an API and a workbench in one process."""
