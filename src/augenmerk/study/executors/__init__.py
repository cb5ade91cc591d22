"""Where the jobs of a study run, behind one interface: `Executor` in `executor.py`."""
