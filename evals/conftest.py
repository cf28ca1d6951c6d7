"""Keep pytest out of the tasks: their tests belong to the agents, not to this project."""

collect_ignore = ["tasks"]
