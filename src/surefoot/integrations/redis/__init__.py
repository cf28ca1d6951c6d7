"""Redis: a copy of runs for other programs and other machines. The journal remains the source of truth."""
