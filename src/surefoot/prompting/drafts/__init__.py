"""What a strategy gives to the engine: the output of a phase, or a change of the plan, as the model wrote it."""
