// What the page reads, in one place: the generated rows of the protocol, and the answers of the HTTP API.

export type {
  ActionRow,
  Bar,
  FileDiff,
  FinalCheck,
  Message,
  NextTry,
  Omission,
  Recovery,
  Report,
  PhaseRow,
  OptionRow as QuestionOption,
  QuestionRow,
  RevisionRow,
  Row,
  RunError,
  RunRow,
  RunRows,
  RunSnapshot,
  StepRow,
  StreamText,
  TryRow,
  Usage,
} from './protocol';
import type { Accepted, Message, ProofRow, Queued, Refused, Row, RunRow, StepDetail as StepDetailOf, StepRow } from './protocol';

export interface Info {
  version: string;
  protocol: number;
  scope: 'control' | 'view';
  cwd: string;
  models: string[];
  locale_hint: string | null;
}

/** The result of a check that the engine ran after the step's work. */
export type Proof = ProofRow;
export type StepDetail = Omit<StepDetailOf, 'step'> & { step: StepRow };

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

export type CommandAnswer = (Accepted & { run?: string }) | Queued | Refused;
