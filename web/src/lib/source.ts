// Where a page gets its data from: a server, or the data inside a report.

import type { Command, CommandAnswer, Conversation, FileDiff, Info, NewRun, RunList, StepDetail } from './model';
import type { RunView } from './run.svelte';

export interface Source {
  /** False in a report: nothing can be commanded, and there is one run. */
  readonly live: boolean;
  info(): Promise<Info>;
  runs(before?: string): Promise<RunList>;
  start(run: NewRun): Promise<string>;
  /** Fill the view and keep it up to date until the returned function is called. */
  watch(view: RunView): () => void;
  diff(run: string, step?: string): Promise<FileDiff[]>;
  step(run: string, step: string): Promise<StepDetail>;
  conversation(run: string, after?: string): Promise<Conversation>;
  plan(run: string): Promise<string>;
  blob(run: string, hash: string): Promise<Blob>;
  report(run: string): Promise<Blob>;
  command(run: string, command: Command): Promise<CommandAnswer>;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly remedy: string,
  ) {
    super(message);
  }
}
