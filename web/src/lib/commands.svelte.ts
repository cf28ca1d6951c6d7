// Commands that this page sent, each with its state. The same id is sent again after a lost answer: the server
// carries a command out once.

import type { Command } from './model';
import type { Source } from './source';

export type Sent = {
  readonly id: string;
  readonly run: string;
  readonly label: string;
  readonly target: string;
  readonly command: Command;
  /** When it was first sent, in milliseconds. */
  readonly at: number;
  readonly state: 'sending' | 'accepted' | 'queued' | 'refused' | 'lost';
  readonly seq: number | null;
  readonly reason: string;
};

const KEEP = 6;
/** How often it is asked what became of a command that waits for its run. */
const ASK_MS = 5_000;
/** The same command within this time is the second half of a double click. */
const TWICE_MS = 1_000;

export class Commands {
  sent = $state.raw<readonly Sent[]>([]);

  constructor(private readonly source: Source) {}

  /** The newest command for a button, a step or a question. */
  latest(target: string): Sent | undefined {
    return this.sent.findLast((item) => item.target === target);
  }

  send(run: string, label: string, target: string, fields: Omit<Command, 'commandId'>): Promise<Sent> {
    const command: Command = { ...fields, commandId: newId() };
    const twin = this.latest(target);
    if (twin?.run === run && isWanted(twin) && sameFields(twin.command, command)) return Promise.resolve(twin);
    return this.#deliver({ id: command.commandId, run, label, target, command, at: Date.now(), state: 'sending', seq: null, reason: '' });
  }

  again(item: Sent): Promise<Sent> {
    return this.#deliver({ ...item, state: 'sending', reason: '' });
  }

  dismiss(id: string): void {
    this.sent = this.sent.filter((item) => item.id !== id);
  }

  async #deliver(item: Sent): Promise<Sent> {
    this.#put(item);
    let done: Sent;
    try {
      const answer = await this.source.command(item.run, item.command);
      if ('refused' in answer) done = { ...item, state: 'refused', reason: answer.reason };
      else if ('queued' in answer) done = { ...item, state: 'queued', reason: answer.reason };
      else done = { ...item, state: 'accepted', seq: answer.seq, reason: answer.run ?? '' };
    } catch (error) {
      done = { ...item, state: 'lost', reason: error instanceof Error ? error.message : String(error) };
    }
    this.#put(done);
    if (done.state === 'accepted') setTimeout(() => this.dismiss(done.id), 8_000);
    if (done.state === 'queued') setTimeout(() => this.#ask(done.id), ASK_MS);
    return done;
  }

  /** Send a command that waits once more: the answer says what became of it. */
  #ask(id: string): void {
    const item = this.sent.find((other) => other.id === id);
    if (item?.state === 'queued') void this.#deliver(item);
  }

  #put(item: Sent): void {
    const rest = this.sent.filter((other) => other.id !== item.id);
    this.sent = [...rest, item].slice(-KEEP);
  }
}

/** Whether a command is under way, or was carried out a moment ago. */
function isWanted({ state, at }: Sent): boolean {
  return state === 'sending' || state === 'queued' || (state === 'accepted' && Date.now() - at < TWICE_MS);
}

function sameFields(a: Command, b: Command): boolean {
  return JSON.stringify({ ...a, commandId: '' }) === JSON.stringify({ ...b, commandId: '' });
}

export function newId(): string {
  // randomUUID exists only in secure contexts; a page behind a plain-HTTP proxy is none.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
