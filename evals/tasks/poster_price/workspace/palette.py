"""What a square metre costs, in cents."""

COST = {"black": 900, "red": 1400, "gold": 5200}
