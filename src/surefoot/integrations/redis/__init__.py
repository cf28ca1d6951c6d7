"""Redis: a copy of runs for other programs and other machines. The journal stays the truth."""
