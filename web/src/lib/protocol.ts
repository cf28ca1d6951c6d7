// The rows and answers of protocol version 1, as docs/reference/protocol.md describes them.

export type RunStatus = 'running' | 'waiting' | 'paused' | 'interrupted' | 'done' | 'failed' | 'undone';

export interface Counter {
  value: number;
  max: number | null;
}

export interface RunRow {
  key: string;
  kind: 'run';
  id: string;
  title: string;
  task: string;
  folder: string;
  model: string;
  strategy: string;
  stage: string;
  state: string;
  status: RunStatus;
  verdict: string | null;
  exit_code: number | null;
  proof: 'A' | 'B' | 'C' | null;
  summary: string;
  reason: string;
  started_at: number | null;
  updated_at: number | null;
  ended_at: number | null;
  active_seconds: number;
  tokens: { prompt: number; output: number; cached: number };
  cost_usd: number | null;
  limits: Record<string, number | null>;
  calls: { model: number; tool: number };
  counters: Record<string, Counter>;
  revisions: number;
  open_questions: number;
  steps: { total: number; done: number; failed: number; running: number; waiting: number; skipped: number; healed: number };
  now: { step: string | null; action: string | null; text: string; since: number | null } | null;
  live: boolean;
  diagnosis: Record<string, unknown> | null;
  forked_from: string | null;
  warnings: string[];
}

export type PhaseStatus = 'pending' | 'running' | 'success' | 'failed' | 'skipped' | 'awaiting_confirmation';

export interface PhaseRow {
  key: string;
  kind: 'phase';
  name: string;
  status: PhaseStatus;
  confidence: number | null;
  messages: string[];
  warnings: string[];
  suggestions: string[];
  started_at: number | null;
  duration_ms: number | null;
  retry_count: number;
  output: Record<string, unknown> | null;
  reason: string;
}

export interface StepCheck {
  label: string;
  before: 'red' | 'green' | null;
  now: 'red' | 'green' | null;
  decisive: boolean;
}

export interface Bar {
  from: number;
  to: number | null;
  outcome: 'ok' | 'failed' | 'running' | 'waiting';
}

export interface StepRow {
  key: string;
  kind: 'step';
  id: string;
  sequence: number;
  name: string;
  description: string;
  type: string;
  status: string;
  ready: boolean;
  needs: string[];
  critical: boolean;
  priority: number | string | null;
  healed: boolean;
  attempt: number;
  max_attempts: number | null;
  started_at: number | null;
  ended_at: number | null;
  reason: string;
  files: string[];
  expected_outputs: string[];
  milestone: string | null;
  estimated_minutes: number | null;
  revision_added: number;
  revision_removed: number | null;
  checks: StepCheck[];
  bars: Bar[];
  rungs: string[];
  degraded: boolean;
  proven: boolean | null;
}

export interface TryRow {
  key: string;
  kind: 'try';
  step: string;
  number: number;
  status: string;
  started_at: number | null;
  ended_at: number | null;
  failure: { category: string; message: string } | null;
  reflection: { category: string; root_cause: string; confidence: number | null; suggested_fix: string } | null;
  rung: string | null;
  rolled_back: boolean;
}

export interface ActionRow {
  key: string;
  kind: 'action';
  id: string;
  step: string | null;
  try: number | null;
  tool: string;
  title: string;
  status: 'running' | 'ok' | 'failed' | 'refused' | 'interrupted';
  started_at: number | null;
  ended_at: number | null;
  summary: string;
  changed: string[];
  output_blob: string | null;
}

export interface QuestionOption {
  value: string;
  label: string;
  key: string;
  danger: boolean;
}

export interface QuestionRow {
  key: string;
  kind: 'question';
  id: string;
  qkind: string;
  text: string;
  why: string;
  options: QuestionOption[];
  command: string | null;
  diff: string | null;
  hash: string;
  step: string | null;
  asked_at: number | null;
  times_out_at: number | null;
  answer: string | null;
  answered_by: string | null;
}

export interface RevisionRow {
  key: string;
  kind: 'revision';
  number: number;
  at: number | null;
  reason: string;
  added: string[];
  changed: string[];
  removed: string[];
  by: string;
}

export type Row = RunRow | PhaseRow | StepRow | TryRow | ActionRow | QuestionRow | RevisionRow;

export interface RunSnapshot {
  v: 1;
  run: string;
  seq: number;
  rows: Row[];
}

export interface RunRows {
  v: 1;
  run: string;
  after: number;
  upto: number;
  upserts: Row[];
  removed: string[];
}

export interface StreamText {
  v: 1;
  run: string;
  id: string;
  step: string | null;
  kind: 'text' | 'reasoning' | 'call' | 'output';
  offset: number;
  text: string;
}
