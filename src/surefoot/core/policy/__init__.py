"""What may be done without asking, and what never: rules, and how they fit commands and web addresses."""
