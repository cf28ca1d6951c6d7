"""Evaluate Surefoot and simpler agents on real tasks with the same model and hidden checkers.

catalog    the tasks under evals/tasks, and their hidden checkers
checking   helpers for the hidden checkers; confined: run an agent's code with limits
gateway    a proxy between agents and the model: counts, limits, records and replays answers
agents     how each agent is started, and how its claim is read
baselines  two simple agents: one completion, and a plain loop with the test output fed back
runner     runs one agent on one task in a fresh workspace, and records one line of results
slips      counts the model's mistakes in Surefoot's journals
report     the tables and the chart
"""
