"""Many processes: numbered blocks mapped over this machine or a Ray cluster.

May import: base. Read first: `blocks.py`.
"""
