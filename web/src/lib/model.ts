// What the page reads, in one place: the generated rows of the protocol, and the answers of the HTTP API.

export type {
  ActionRow,
  Bar,
  PhaseRow,
  OptionRow as QuestionOption,
  QuestionRow,
  RevisionRow,
  Row,
  RunRow,
  RunRows,
  RunSnapshot,
  StepRow,
  StreamText,
  TryRow,
} from './protocol';
import type { ActionRow, Row, RunRow, StepRow, TryRow } from './protocol';

export interface Info {
  version: string;
  protocol: number;
  scope: 'control' | 'view';
  cwd: string;
  models: string[];
  locale_hint: string | null;
}

export interface FileDiff {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
  binary: boolean;
  patch: string;
  lines: number;
  truncated: boolean;
}

/** The result of a check that the engine ran after the step's work. */
export interface Proof {
  label: string;
  passed: boolean;
  red_before: boolean;
  /** The relevant lines of its output. */
  detail?: string;
  exit_code?: number | null;
  output_hash?: string;
  duration_ms?: number;
  reused?: boolean;
}

export interface Artifact {
  id: string;
  kind?: string;
  hash?: string;
  size?: number;
  summary?: string;
}

export interface StepDetail {
  step: StepRow;
  attempts: TryRow[];
  actions: ActionRow[];
  proofs: Proof[];
  artifacts: Artifact[];
  log: string;
}

export interface Message {
  id: string;
  role: string;
  purpose: string;
  step: string | null;
  text: string;
  calls: { id: string; name: string; arguments: unknown }[];
  result_of: string | null;
  tokens: { prompt: number; output: number; cached: number } | null;
  at: number | null;
  /** How many characters are left out. */
  truncated: number;
}

export interface Conversation {
  messages: Message[];
  next: string | number | null;
}

export interface NewRun {
  task: string;
  folder?: string;
  model?: string;
  checks?: string[];
  plan_only?: boolean;
  options?: Record<string, string | number | boolean>;
}

export interface RunPage {
  run: string;
  seq: number;
  rows: Row[];
}

export interface RunList {
  runs: RunRow[];
  next: string | null;
}

export type Verb = 'pause' | 'resume' | 'cancel' | 'undo' | 'fork' | 'edit' | 'skip' | 'retry' | 'answer';

export interface Command {
  command: Verb;
  commandId: string;
  step?: string;
  question?: string;
  answer?: string;
  expectHash?: string;
  plan?: string;
  why?: string;
  options?: Record<string, unknown>;
}

export type CommandAnswer = { accepted: true; seq: number; run?: string } | { refused: true; reason: string };
