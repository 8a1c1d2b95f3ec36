"""WHO answers: one file per provider behind base.py."""
