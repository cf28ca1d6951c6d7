// Written by `python -m surefoot.server.typescript` from src/surefoot/view and report. Do not edit.

export const PROTOCOL = 1;

export interface Tokens {
  prompt: number;
  output: number;
  cached: number;
}

export interface Limits {
  tokens: number | null;
  cost_usd: number | null;
  seconds: number | null;
  tool_calls: number | null;
}

export interface Calls {
  model: number;
  tool: number;
}

export interface Counter {
  value: number;
  max: number;
}

export interface Counters {
  step_retry_count: Counter;
  single_step_repair_count: Counter;
  task_replan_count: Counter;
  consecutive_failures: Counter;
}

export interface StepCounts {
  total: number;
  done: number;
  failed: number;
  running: number;
  waiting: number;
  skipped: number;
  healed: number;
}

export interface Now {
  step: string | null;
  action: string | null;
  text: string;
  since: number;
}

export interface NextTry {
  at: number;
  what: "model" | "step";
  step: string | null;
  number: number;
  of: number;
}

export interface DiagnosisRow {
  what_failed: string;
  cause: string;
  root_cause: string;
  evidence: string;
  tried: string[];
  left_behind: string[];
  left_outside: string[];
  next_steps: string[];
}

export interface RunRow {
  key: "run";
  kind: "run";
  id: string;
  title: string;
  task: string;
  folder: string;
  model: string;
  strategy: string | null;
  stage: string;
  state: "INTAKE" | "PLANNING" | "EXECUTING" | "RECOVERING" | "VERIFYING" | "BLOCKED" | "DONE";
  status: RunStatus;
  verdict: string | null;
  exit_code: number | null;
  proof: "A" | "B" | "C" | null;
  summary: string;
  reason: string;
  started_at: number;
  updated_at: number;
  ended_at: number | null;
  active_seconds: number;
  tokens: Tokens;
  cost_usd: number | null;
  limits: Limits;
  calls: Calls;
  counters: Counters;
  revisions: number;
  open_questions: number;
  steps: StepCounts;
  now: Now | null;
  next_try: NextTry | null;
  live: boolean;
  diagnosis: DiagnosisRow | null;
  forked_from: string | null;
  warnings: string[];
  seq: number;
}

export interface PhaseRow {
  key: string;
  kind: "phase";
  name: "understanding" | "approach" | "planning" | "execution" | "validation";
  status: PhaseStatusName;
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

export interface CheckRow {
  label: string;
  before: Colour | null;
  now: Colour | null;
  decisive: boolean;
}

export interface Bar {
  from: number;
  to: number | null;
  outcome: "ok" | "failed" | "running" | "waiting";
}

export interface StepRow {
  key: string;
  kind: "step";
  id: string;
  sequence: number;
  name: string;
  description: string;
  type: string;
  status: StepStatusName;
  ready: boolean;
  needs: string[];
  critical: boolean;
  priority: number;
  healed: boolean;
  attempt: number;
  max_attempts: number;
  started_at: number | null;
  ended_at: number | null;
  reason: string;
  files: string[];
  tool_files: number;
  expected_outputs: string[];
  milestone: string | null;
  estimated_minutes: number;
  revision_added: number;
  revision_removed: number | null;
  checks: CheckRow[];
  bars: Bar[];
  rungs: string[];
  degraded: boolean;
  proven: boolean | null;
}

export interface FailureRow {
  category: string;
  message: string;
}

export interface ReflectionRow {
  category: string;
  root_cause: string;
  confidence: number;
  suggested_fix: string;
}

export interface TryUsage {
  calls: number;
  tokens: Tokens;
  cost_usd: number | null;
  recovery_seconds: number;
}

export interface RedLook {
  at: number;
  checks: string[];
  detail: string;
}

export interface TryRow {
  key: string;
  kind: "try";
  step: string;
  number: number;
  status: StepStatusName;
  started_at: number;
  ended_at: number | null;
  failure: FailureRow | null;
  reflection: ReflectionRow | null;
  rung: string | null;
  rolled_back: boolean;
  red_looks: RedLook[];
  usage: TryUsage;
}

export interface ActionRow {
  key: string;
  kind: "action";
  id: string;
  step: string;
  tool: string;
  title: string;
  status: "running" | "ok" | "failed" | "refused" | "interrupted";
  started_at: number;
  ended_at: number | null;
  summary: string;
  changed: string[];
  output_blob: string | null;
  try: number;
}

export interface OptionRow {
  value: string;
  label: string;
  key: string;
  danger: boolean;
}

export interface QuestionRow {
  key: string;
  kind: "question";
  id: string;
  qkind: string;
  text: string;
  why: string;
  options: OptionRow[];
  command: string | null;
  diff: string | null;
  hash: string;
  step: string | null;
  asked_at: number;
  times_out_at: number | null;
  answer: string | null;
  answered_by: string | null;
  draft_blob: string | null;
}

export interface RevisionRow {
  key: string;
  kind: "revision";
  number: number;
  at: number;
  reason: string;
  added: string[];
  changed: string[];
  removed: string[];
  by: string;
}

export interface RunSnapshot {
  v: number;
  run: string;
  seq: number;
  rows: Row[];
}

export interface RunRows {
  v: number;
  run: string;
  after: number;
  upto: number;
  upserts: Row[];
  removed: string[];
}

export interface RunsSnapshot {
  v: number;
  rows: RunRow[];
}

export interface RunsRows {
  v: number;
  upserts: RunRow[];
  removed: string[];
}

export interface StreamText {
  v: number;
  run: string;
  id: string;
  step: string;
  kind: "text" | "output" | "call";
  offset: number;
  text: string;
}

export interface RunError {
  v: number;
  run: string;
  message: string;
}

export interface Beat {
  at: number;
}

export interface Accepted {
  accepted: true;
  seq: number;
}

export interface Queued {
  queued: true;
  seq: number;
  reason: string;
}

export interface Refused {
  refused: true;
  reason: string;
}

export interface ErrorBody {
  code: string;
  message: string;
  remedy: string;
}

export interface ErrorAnswer {
  error: ErrorBody;
}

export interface FileDiff {
  path: string;
  status: string;
  binary: boolean;
  patch: string;
  lines: number;
  truncated: boolean;
}

export interface ProofRow {
  label: string;
  passed: boolean;
  red_before: boolean;
  detail: string;
  exit_code: number | null;
  output_hash: string;
  duration_ms: number;
  reused: boolean;
}

export interface ArtifactRow {
  id: string;
  kind: string;
  hash: string;
  size: number;
  summary: string;
}

export interface StepDetail {
  step: Row;
  attempts: TryRow[];
  actions: ActionRow[];
  proofs: ProofRow[];
  artifacts: ArtifactRow[];
  log: string;
}

export interface Call {
  id: string;
  name: string;
  arguments: Record<string, unknown> | string;
}

export interface Message {
  id: string;
  role: string;
  purpose: string;
  step: string | null;
  text: string;
  calls: Call[];
  result_of: string | null;
  tokens: Tokens | null;
  at: number | null;
  truncated: number;
}

export interface FinalCheck {
  label: string;
  passed: boolean;
  red_before: boolean;
  detail: string;
  exit_code: number | null;
  output_hash: string;
  duration_ms: number;
  reused: boolean;
  before: Colour | null;
  now: Colour | null;
  origin: string;
}

export interface Recovery {
  step: string;
  name: string;
  attempt: number;
  category: string;
  message: string;
  root_cause: string;
  rung: string | null;
  rolled_back: boolean;
  healed: boolean;
  seconds: number;
  calls: number;
  tokens: Tokens;
  cost_usd: number | null;
}

export interface Usage {
  purpose: string;
  calls: number;
  tokens: Tokens;
  cost_usd: number | null;
  seconds: number;
}

export interface ChangedFiles {
  added: string[];
  modified: string[];
  deleted: string[];
  tool_files: number;
}

export interface SuiteRow {
  command: string;
  before: string;
  after: string;
  regressions: string[];
  no_longer_run: string[];
  altered: string[];
  own_tests: string[];
  problems: string[];
}

export interface Environment {
  surefoot: string[];
  system: string[];
  model: string[];
  traits: Record<string, unknown>;
  sandbox: string[];
  starts: number;
  settings: Record<string, unknown>;
}

export interface Omission {
  what: Omitted;
  count: number;
  size: number;
}

export interface ReportLimits {
  file_bytes: number;
  log_end_chars: number;
  message_chars: number;
  patch_lines: number;
}

export interface StepDocument {
  proofs: ProofRow[];
  artifacts: ArtifactRow[];
  log: string;
}

export interface Push {
  commit: string;
  branch: string;
  address: string;
}

export interface Report {
  v: number;
  run: string;
  seq: number;
  generated_at: number;
  version: string;
  locale: string | null;
  ended: boolean;
  rows: Row[];
  checks: FinalCheck[];
  tests: SuiteRow | null;
  files: ChangedFiles;
  notes: string[];
  unproven_steps: string[];
  undone: Record<string, unknown> | null;
  branch: string;
  commits: string[];
  pushes: Push[];
  recoveries: Recovery[];
  usage: Usage[];
  environment: Environment;
  diff: FileDiff[];
  diff_problem: string;
  step_diffs: Record<string, FileDiff[]>;
  steps: Record<string, StepDocument>;
  conversation: Message[];
  blobs: Record<string, string>;
  omitted: Omission[];
  limits: ReportLimits;
}

export type RunStatus = "running" | "waiting" | "paused" | "interrupted" | "queued" | "plan" | "done" | "failed" | "undone";

export type PhaseStatusName = "pending" | "running" | "success" | "failed" | "skipped" | "awaiting_confirmation";

export type StepStatusName = "pending" | "running" | "succeeded" | "partial" | "failed" | "skipped" | "degraded" | "blocked";

export type Colour = "red" | "green";

export type Row = RunRow | PhaseRow | StepRow | TryRow | ActionRow | QuestionRow | RevisionRow;

export type Omitted = "outputs" | "output_middles" | "binary_outputs" | "lost_outputs" | "messages" | "message_ends" | "diffs" | "patches" | "actions" | "texts" | "tool_files";
