"""Real tasks, done by Surefoot and by simpler agents with the same model, and judged by checkers that no agent sees.

catalog    the tasks under evals/tasks, and their hidden checkers
checking   what the hidden checkers share; confined: how they run what an agent left
gateway    stands between every agent and the model: counts, caps, records and repeats answers
agents     how each agent is started, and what it claims at the end
baselines  two simple agents: one completion, and a plain loop with the test output fed back
runner     one task, one agent, one fresh workspace: one line of results
report     the table, the truthfulness figures and the picture
"""
