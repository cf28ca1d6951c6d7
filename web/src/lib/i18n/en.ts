// English, and the list of keys that every other language has to have. `x_one` and `x_other` are forms of a count.

export const en = {
  again: 'Try again', cancel: 'Cancel', close: 'Close', no: 'No', loading: 'Loading…', loadFailed: 'This could not be loaded:', more: 'Load more', 'more.n': '{n} more', download: 'Download', output: 'Output',
  run: 'Run', runs: 'Runs', 'runs.none': 'No runs yet', 'runs.none.help': 'Runs that are started here or in a terminal appear in this list.', newRun: 'New run', report: 'Report', language: 'Language', find: 'Find', filter: 'Filter', 'filter.all': 'Show all',
  theme: 'Theme', 'theme.auto': 'as the system', 'theme.light': 'light', 'theme.dark': 'dark',
  'link.live': 'live', 'link.connecting': 'connecting…', 'link.stale': 'stale since {time}', 'link.denied': 'no access',
  'denied.title': 'This page needs a token', 'denied.text': 'Open the address that the server printed, with everything after the # sign. A token can also have been revoked. A new address is printed by:',
  viewOnly: 'This address may only watch.', 'viewOnly.short': 'view only',
  steps_one: '{n} step', steps_other: '{n} steps', questions_one: '{n} open question', questions_other: '{n} open questions', files_one: '{n} file', files_other: '{n} files',
  'calls.model_one': '{n} model call', 'calls.model_other': '{n} model calls', 'calls.tool_one': '{n} tool call', 'calls.tool_other': '{n} tool calls',

  plan: 'Plan', 'plan.rows': 'Plan as rows with times', 'plan.graph': 'Plan as a graph', 'plan.view': 'View of the plan', 'plan.none': 'There is no plan yet.',
  'fold.done_one': '{n} finished step', 'fold.done_other': '{n} finished steps', 'fold.steps_one': '{n} step, folded', 'fold.steps_other': '{n} steps, folded',
  'graph.tooLarge_one': '{n} node is too many for a picture', 'graph.tooLarge_other': '{n} nodes are too many for a picture', 'graph.failed': 'The picture could not be drawn:',
  zoom: 'Zoom', 'zoom.in': 'Larger', 'zoom.out': 'Smaller', 'zoom.fit': 'Fit',
  revisions: 'Revisions', 'revisions.none': 'The plan was not changed.', 'mark.added': 'added', 'mark.changed': 'changed', 'mark.removed': 'removed', removedIn: 'removed in r{n}',
  phases: 'Phases', 'phase.understanding': 'Understand', 'phase.approach': 'Approach', 'phase.planning': 'Plan', 'phase.execution': 'Execute', 'phase.validation': 'Validate',
  'phase.retries': 'Asked again', 'phase.messages': 'Messages', 'phase.warnings': 'Warnings', 'phase.suggestions': 'Suggestions', 'phase.output': 'Result', confidence: 'confidence',

  'step.n': 'Step {n}', 'step.of': 'Step {n} of {total}', 'step.parts': 'Parts of the step', 'run.parts': 'Parts of the run',
  'tab.now': 'Attempts', 'tab.proof': 'Proof', 'tab.diff': 'Changes', 'tab.log': 'Log', 'tab.artifacts': 'Artifacts', 'tab.talk': 'Conversation', 'tab.about': 'About', 'tab.actions': 'Actions', 'tab.revisions': 'Revisions', 'tab.answers': 'Answers',
  tries: 'Attempts', 'tries.none': 'It has not started.', 'try.n': 'Attempt {n}', 'try.of': 'attempt {n} of {max}', 'try.rolledBack': 'undone', reflection: 'Cause:', 'reflection.fix': 'What to do:', rung: 'Next', ladder: 'Recovery',
  actions: 'Actions', 'actions.none': 'No actions yet.', 'actions.run': 'What can be done with the run', 'artifacts.none': 'No artifacts.', 'log.none': 'Nothing was logged.', 'log.more_one': '{n} earlier line, {size} in all', 'log.more_other': '{n} earlier lines, {size} in all',
  'checks.none': 'This step has no checks.', 'check.red': 'red', 'check.green': 'green', 'check.unknown': 'not run', 'check.notDecisive': 'not decisive', proven: 'Proven: a check was red before and is green now', unproven: 'Not proven by a check that was red before', proofs: 'What the checks printed',
  facts: 'Facts', id: 'Id', type: 'Kind', needs: 'After', 'files.title': 'Files', outputs: 'Expected', milestone: 'Milestone', estimate: 'Estimate', critical: 'critical', state: 'State', reason: 'Reason', duration: 'Duration',

  diff: 'Difference', 'diff.none': 'Nothing changed.', 'diff.inline': 'Inline', 'diff.split': 'Split', 'diff.style': 'How differences are shown', 'diff.binary': 'A binary file.', 'diff.empty': 'The content is the same.',
  'diff.unchanged_one': '{n} unchanged line', 'diff.unchanged_other': '{n} unchanged lines', 'diff.more_one': 'Show {n} more line', 'diff.more_other': 'Show {n} more lines', 'diff.long_one': '{n} line: open to show', 'diff.long_other': '{n} lines: open to show', 'diff.truncated_one': 'Cut: the whole difference has {n} line.', 'diff.truncated_other': 'Cut: the whole difference has {n} lines.',
  'file.added': 'added', 'file.modified': 'modified', 'file.deleted': 'deleted', 'file.renamed': 'renamed',

  'q.why': 'Why:', 'q.allow': 'Allow once', 'q.allowRun': 'Allow for the run', 'q.edit': 'Edit', 'q.deny': 'Deny', 'q.words': 'Answer in words', 'q.wordsLabel': 'Your answer', 'q.editLabel': 'What is done instead', 'q.send': 'Send', 'q.sendEdited': 'Allow as edited',
  'q.hidden_one': '{n} hidden character is shown by its name', 'q.hidden_other': '{n} hidden characters are shown by their names', 'q.changed': 'The question has changed. Read it again.', 'q.timeout': 'counts as a no in {time}', 'q.timedOut': 'timed out',
  'qkind.approval': 'Approval', 'qkind.confirmation': 'Confirmation', 'qkind.clarification': 'Question', 'qkind.question': 'Question',
  'answers.none': 'Nothing was asked.',

  now: 'Now', 'now.nothing': 'Nothing is running.', time: 'Time', cost: 'Cost', tokens: 'Tokens', 'tokens.detail': 'Prompt {prompt} ({cached} cached), output {output}', budgets: 'Budgets and counters', task: 'Task', folder: 'Folder', model: 'Model', strategy: 'Strategy', verdict: 'Verdict', exit: 'exit code {code}', proof: 'Proof', 'proof.level': 'proof {level}', started: 'Started', ended: 'Ended', forkedFrom: 'Forked from', diagnosis: 'Diagnosis', environment: 'Environment',
  'proof.A': 'a check of the user or the project was red before and is green now', 'proof.B': 'a test that the run wrote fails before and passes now', 'proof.C': 'nothing that failed before is known to pass now',
  'counter.step_retry_count': 'Step retries', 'counter.single_step_repair_count': 'Step repairs', 'counter.task_replan_count': 'Replans', 'counter.consecutive_failures': 'Failures in a row',
  'talk.none': 'Nothing was said.', 'talk.calls_one': '{n} call', 'talk.calls_other': '{n} calls', 'talk.truncated_one': '{n} more character is left out here', 'talk.truncated_other': '{n} more characters are left out here', 'role.system': 'System', 'role.user': 'To the model', 'role.assistant': 'Model', 'role.tool': 'Result',
  'report.made': 'Report of {time}, Surefoot {version}',

  pause: 'Pause', resume: 'Resume', cancelRun: 'Cancel', undo: 'Undo', fork: 'Fork', skip: 'Skip', retry: 'Retry', editPlan: 'Edit plan', 'editPlan.help': 'The steps that have not started. Change, move, delete or add them.', 'editPlan.steps': 'Steps (TOML)', 'editPlan.send': 'Change the plan',
  'confirm.cancel': 'Cancel this run?', 'confirm.cancel.text': 'It ends now. What is done stays, and can be undone.', 'confirm.undo': 'Undo this run?', 'confirm.undo.text': 'Its changes to the files are taken back. Files that were changed since are reported, not overwritten.', 'confirm.undoStep': 'Undo this step?', 'confirm.undoStep.text': 'The files go back to before this step; later steps are undone with it. Files that were changed since are reported, not overwritten.',
  'fork.help': 'A new run in a new folder, with files and journal as they were before the step.', 'fork.at': 'Before step', 'fork.folder': 'New folder', 'fork.start': 'Start it now', 'fork.none': 'No step has started yet.',
  'cmd.answer': 'Answer', 'sent.sending': 'is being sent…', 'sent.accepted': 'accepted', 'sent.at': 'at #{seq}', 'sent.refused': 'refused', 'sent.lost': 'not delivered',
  'new.task.hint': 'What should be done?', 'new.checks': 'Checks', 'new.checks.help': 'One command per line. They have to succeed at the end; that is the proof.', 'new.model.hint': 'as configured', 'new.planOnly': 'Only make the plan', 'new.approve': 'Ask before', 'new.maxTime': 'Time limit', 'new.maxCost': 'Cost limit ($)', 'new.worktree': 'Work in a copy of the folder', 'approve.ask': 'every change and command', 'approve.auto-edit': 'every command', 'approve.auto': 'effects outside the folder', 'approve.never': 'nothing; what needs approval is not done', 'new.start': 'Start',

  'state.running': 'running', 'state.failed': 'failed', 'state.waiting': 'waiting for you', 'state.healed': 'healed', 'state.ready': 'ready', 'state.pending': 'to do', 'state.done': 'done', 'state.partial': 'partly done', 'state.degraded': 'fallback', 'state.skipped': 'skipped', 'state.blocked': 'blocked', 'state.removed': 'removed', 'state.paused': 'paused', 'state.interrupted': 'interrupted', 'state.undone': 'undone', 'state.refused': 'refused', 'state.unverified': 'unverified', 'state.succeeded': 'done',
  'filter.running': 'running', 'filter.waiting': 'waiting', 'filter.failed': 'failed', 'filter.healed': 'healed', 'filter.todo': 'to do', 'filter.done': 'done', 'filter.skipped': 'skipped', 'filter.removed': 'removed',
  'orchestration.INTAKE': 'intake', 'orchestration.PLANNING': 'planning', 'orchestration.EXECUTING': 'executing', 'orchestration.RECOVERING': 'recovering', 'orchestration.VERIFYING': 'verifying', 'orchestration.BLOCKED': 'blocked', 'orchestration.DONE': 'done',
  'verdict.verified': 'verified', 'verdict.unverified': 'unverified', 'verdict.failed': 'failed', 'verdict.blocked': 'blocked', 'verdict.waiting': 'waiting', 'verdict.budget': 'out of budget', 'verdict.loop': 'stopped: a loop', 'verdict.time': 'out of time', 'verdict.cancelled': 'cancelled', 'verdict.interrupted': 'interrupted',
  'rung.retry_later': 'retry later', 'rung.adjust_parameters': 'adjust', 'rung.alternative_tool': 'another tool', 'rung.candidates': 'several candidates', 'rung.repair_step': 'repair the step', 'rung.skip_step': 'skip', 'rung.fallback': 'fallback', 'rung.failure_branch': 'failure branch', 'rung.replan_task': 'replan', 'rung.next_approach': 'next approach', 'rung.give_up': 'give up',
  'type.preparation': 'preparation', 'type.code_generation': 'code', 'type.configuration': 'configuration', 'type.file_operation': 'files', 'type.command_execution': 'command', 'type.testing': 'tests', 'type.deployment': 'deployment', 'type.cleanup': 'cleanup',

  keys: 'Keys', 'keys.everywhere': 'Everywhere', 'keys.plan': 'Plan and step', 'keys.steer': 'Steering', 'keys.questions': 'Questions',
  'key.help': 'this help', 'key.new': 'new run', 'key.home': 'list of runs', 'key.theme': 'light, dark, as the system', 'key.language': 'language', 'key.move': 'next, previous', 'key.open': 'open', 'key.expand': 'show, hide attempts', 'key.graph': 'graph or rows', 'key.find': 'find', 'key.back': 'close the step', 'key.tab': 'tab', 'key.skip': 'skip the step', 'key.retry': 'retry the step', 'key.pause': 'pause, resume', 'key.cancel': 'cancel the run', 'key.undo': 'undo the run', 'key.undoStep': 'undo the step and what follows', 'key.fork': 'fork the run', 'key.edit': 'edit the plan', 'key.report': 'save the report', 'key.question': 'go to the next question', 'key.allow': 'allow once (on a question)', 'key.allowRun': 'allow for the run', 'key.editAnswer': 'edit', 'key.deny': 'deny',
} as const;
