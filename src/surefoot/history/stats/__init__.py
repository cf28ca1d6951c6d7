"""Statistics over many runs: results by level of proof, durations, recoveries, usage, checks, failures."""
