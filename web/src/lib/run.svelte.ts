// What a run page shows: the rows of one run, published at most every 60 ms, however many batches arrive.

import type { ActionRow, PhaseRow, QuestionRow, RevisionRow, RunRow, RunRows, RunSnapshot, StepRow, StreamText, TryRow } from './model';
import { RowTable, type Applied } from './rows';
import { StreamTail } from './stream';

const PUBLISH_MS = 60;
const PHASES = ['understanding', 'approach', 'planning', 'execution', 'validation'];

export class RunView {
  readonly table = new RowTable();
  readonly #stream = new StreamTail();
  #timer: ReturnType<typeof setTimeout> | null = null;

  loaded = $state.raw(false);
  error = $state.raw('');
  /** Why the server cannot read the run at the moment. The next rows end it. */
  problem = $state.raw('');
  upto = $state.raw(0);
  run = $state.raw<RunRow | null>(null);
  phases = $state.raw<PhaseRow[]>([]);
  steps = $state.raw<StepRow[]>([]);
  tries = $state.raw<ReadonlyMap<string, TryRow[]>>(new Map());
  actions = $state.raw<ActionRow[]>([]);
  questions = $state.raw<QuestionRow[]>([]);
  revisions = $state.raw<RevisionRow[]>([]);
  tail = $state.raw('');
  /** The call that the model is writing now. */
  writing = $state.raw('');
  stepById: ReadonlyMap<string, StepRow> = $derived(new Map(this.steps.map((step) => [step.id, step])));
  open: QuestionRow[] = $derived(this.questions.filter((question) => question.answer === null));

  constructor(readonly id: string) {}

  snapshot(data: Pick<RunSnapshot, 'seq' | 'rows'>): Applied {
    return this.#after(this.table.snapshot(data));
  }

  batch(data: RunRows): Applied {
    return this.#after(this.table.batch(data));
  }

  text(data: StreamText): void {
    this.#stream.add(data);
    this.#schedule();
  }

  /** Publish what has arrived. Only the kinds that changed get new lists. */
  publish(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const changed = this.table.takeChanged();
    if (changed.has('run')) this.run = this.table.of('run')[0] ?? null;
    if (changed.has('phase')) {
      this.phases = this.table.of('phase').sort((a, b) => PHASES.indexOf(a.name) - PHASES.indexOf(b.name));
    }
    if (changed.has('step')) this.steps = this.table.of('step').sort((a, b) => a.sequence - b.sequence);
    if (changed.has('try')) {
      const tries = new Map<string, TryRow[]>();
      for (const row of this.table.of('try').sort((a, b) => a.number - b.number)) {
        const list = tries.get(row.step);
        if (list) list.push(row);
        else tries.set(row.step, [row]);
      }
      this.tries = tries;
    }
    if (changed.has('action')) {
      // What was being written is being done now.
      this.#stream.call = '';
      this.actions = this.table.of('action').sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0));
    }
    if (changed.has('question')) {
      this.questions = this.table.of('question').sort((a, b) => (a.asked_at ?? 0) - (b.asked_at ?? 0));
    }
    if (changed.has('revision')) this.revisions = this.table.of('revision').sort((a, b) => a.number - b.number);
    this.upto = this.table.upto ?? 0;
    const live = this.run?.live ?? false;
    this.tail = live ? this.#stream.text : '';
    this.writing = live ? this.#stream.call : '';
    this.loaded = this.table.upto !== null;
  }

  #after(applied: Applied): Applied {
    if (applied === 'applied') {
      this.problem = '';
      this.#schedule();
    }
    return applied;
  }

  #schedule(): void {
    // Not requestAnimationFrame: a hidden tab still has to show the number of questions in its title.
    this.#timer ??= setTimeout(() => this.publish(), this.loaded ? PUBLISH_MS : 0);
  }
}
