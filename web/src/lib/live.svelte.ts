// The connection to a server: one websocket for rows, HTTP for what is opened. Recovers by sequence numbers.

import { io, type Socket } from 'socket.io-client';
import { connection } from './connection.svelte';
import { Http } from './http';
import type { Command, CommandAnswer, Conversation, FileDiff, Info, NewRun, RunList, RunPage, RunError, RunRow, RunRows, RunSnapshot, StepDetail, StreamText } from './model';
import type { RunView } from './run.svelte';
import type { Statistics } from './stats';
import { ApiError, type Source } from './source';

export type Link = 'connecting' | 'live' | 'stale' | 'denied';

type Ack = (() => void) | undefined;
type WatchAck = { head?: number; error?: string | { message?: string } };

interface ServerEvents {
  'run:snapshot': (data: RunSnapshot, ack?: Ack) => void;
  'run:rows': (data: RunRows, ack?: Ack) => void;
  'runs:snapshot': (data: { rows: RunRow[] }, ack?: Ack) => void;
  'runs:rows': (data: { upserts: RunRow[]; removed: string[] }, ack?: Ack) => void;
  'stream:text': (data: StreamText) => void;
  'run:error': (data: RunError) => void;
  beat: (data: { at: number }) => void;
}
interface ClientEvents {
  'run:watch': (data: { run: string; after?: number }, ack: (answer: WatchAck) => void) => void;
  'run:unwatch': (data: { run: string }, ack: (answer: unknown) => void) => void;
  'runs:watch': (data: Record<string, never>, ack: (answer: unknown) => void) => void;
}

/** A beat comes every 10 seconds; without one for this long the connection is taken for dead. */
const BEAT_LIMIT_MS = 25_000;
const ACK_MS = 10_000;

export class LiveSource implements Source {
  readonly live = true;
  link = $state.raw<Link>('connecting');
  /** When the data was last known to be current, in milliseconds. */
  since = $state.raw(Date.now());
  list = $state.raw<RunRow[] | null>(null);

  readonly #http: Http;
  readonly #socket: Socket<ServerEvents, ClientEvents>;
  readonly #views = new Map<string, Set<RunView>>();
  #beat = Date.now();
  #rewatching = new Set<string>();
  #askAgain = new Set<string>();

  constructor(base: string, token: string) {
    this.#http = new Http(base, token, () => this.#deny());
    this.#socket = io(base || undefined, {
      transports: ['websocket'],
      path: '/socket.io',
      auth: { token },
      reconnectionDelay: 500,
      reconnectionDelayMax: 5_000,
      autoConnect: false,
    });
    this.#listen();
    if (token) this.#socket.connect();
    else this.link = 'denied';
    for (const name of ['online', 'pageshow', 'focus'] as const) window.addEventListener(name, () => this.check());
    document.addEventListener('visibilitychange', () => document.hidden || this.check());
    setInterval(() => this.check(), 5_000);
  }

  /** See whether the connection still lives; connect again if it does not. */
  check(): void {
    if (this.link === 'denied') return;
    if (!this.#socket.connected) {
      if (!this.#socket.active) this.#socket.connect();
    } else if (Date.now() - this.#beat > BEAT_LIMIT_MS) {
      this.#stale();
      this.#socket.disconnect().connect();
    }
  }

  retry(): void {
    this.link = 'connecting';
    this.#socket.disconnect().connect();
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on('connect', () => {
      this.#alive();
      this.link = 'live';
      connection.times++;
      socket.emit('runs:watch', {}, () => undefined);
      for (const run of this.#views.keys()) void this.#watch(run);
    });
    socket.on('disconnect', (reason) => {
      this.#stale();
      // The server closes the sockets of a token that was replaced. Asking over HTTP tells that from a restart.
      if (reason === 'io server disconnect' || reason === 'transport close') void this.info().catch(() => undefined);
    });
    socket.on('connect_error', (error) => {
      // A refusal by the server ends the tries; a failure of the network does not.
      if (socket.active) this.#stale();
      else if (/token|auth|denied|forbidden|unauthor/i.test(error.message)) this.#deny();
      else {
        this.#stale();
        setTimeout(() => this.check(), 3_000);
      }
    });
    socket.on('beat', () => this.#alive());
    socket.on('run:snapshot', (data, ack) => {
      this.#alive();
      for (const view of this.#views.get(data.run) ?? []) view.snapshot(data);
      ack?.();
    });
    socket.on('run:rows', (data, ack) => {
      this.#alive();
      let gap = false;
      for (const view of this.#views.get(data.run) ?? []) gap = view.batch(data) === 'gap' || gap;
      ack?.();
      if (gap) void this.#watch(data.run);
    });
    socket.on('runs:snapshot', (data, ack) => {
      this.list = sorted(data.rows);
      ack?.();
    });
    socket.on('runs:rows', (data, ack) => {
      const byId = new Map((this.list ?? []).map((row) => [row.id, row]));
      for (const row of data.upserts) byId.set(row.id, row);
      for (const id of data.removed) byId.delete(id);
      this.list = sorted([...byId.values()]);
      ack?.();
      // A run that was not there when it was asked for has begun.
      for (const row of data.upserts) if ([...(this.#views.get(row.id) ?? [])].some((view) => view.error)) void this.#watch(row.id);
    });
    socket.on('stream:text', (data) => {
      for (const view of this.#views.get(data.run) ?? []) view.text(data);
    });
    socket.on('run:error', (data) => {
      for (const view of this.#views.get(data.run) ?? []) view.problem = data.message;
    });
  }

  #alive(): void {
    this.#beat = Date.now();
    this.since = this.#beat;
  }

  #stale(): void {
    if (this.link === 'live') this.since = this.#beat;
    if (this.link !== 'denied') this.link = 'stale';
  }

  #deny(): void {
    this.link = 'denied';
    this.#socket.disconnect();
  }

  /** Ask for what follows the last row known. The server sends a snapshot if that is too far back. */
  async #watch(run: string): Promise<void> {
    if (!this.#socket.connected) return;
    if (this.#rewatching.has(run)) {
      // Asked while an answer is under way: asked again afterwards, because no other batch may come to show the gap.
      this.#askAgain.add(run);
      return;
    }
    this.#rewatching.add(run);
    try {
      const known = [...(this.#views.get(run) ?? [])].map((view) => view.table.upto);
      const after = known.includes(null) ? null : Math.min(...(known as number[]));
      const answer = await this.#socket.timeout(ACK_MS).emitWithAck('run:watch', after === null ? { run } : { run, after });
      const { error = '' } = answer;
      for (const view of this.#views.get(run) ?? []) view.error = typeof error === 'string' ? error : (error.message ?? '?');
    } catch {
      // No answer: the connection is gone, and connecting again watches again.
    } finally {
      this.#rewatching.delete(run);
    }
    if (this.#askAgain.delete(run) && this.#views.has(run)) await this.#watch(run);
  }

  watch(view: RunView): () => void {
    const views = this.#views.get(view.id) ?? new Set();
    views.add(view);
    this.#views.set(view.id, views);
    void this.#watch(view.id);
    return () => {
      views.delete(view);
      if (views.size > 0) return;
      this.#views.delete(view.id);
      if (this.#socket.connected) this.#socket.emit('run:unwatch', { run: view.id }, () => undefined);
    };
  }

  info = (): Promise<Info> => this.#http.get('/api/info');
  runs = (before?: string): Promise<RunList> =>
    this.#http.get(`/api/runs?limit=50${before ? `&before=${encodeURIComponent(before)}` : ''}`);
  stats = (since: string, folder: string): Promise<Statistics> => this.#http.get(`/api/stats?${new URLSearchParams({ since, folder })}`);
  start = async (run: NewRun): Promise<string> => {
    const answer = await this.#http.post<{ run: string | { id: string } }>('/api/runs', run);
    return typeof answer.run === 'string' ? answer.run : answer.run.id;
  };
  page = (run: string): Promise<RunPage> => this.#http.get(`/api/runs/${encodeURIComponent(run)}`);
  diff = async (run: string, step?: string): Promise<FileDiff[]> => {
    const query = step === undefined ? '' : `?step=${encodeURIComponent(step)}`;
    return (await this.#http.get<{ files: FileDiff[] }>(`/api/runs/${encodeURIComponent(run)}/diff${query}`)).files;
  };
  step = (run: string, step: string): Promise<StepDetail> =>
    this.#http.get(`/api/runs/${encodeURIComponent(run)}/steps/${encodeURIComponent(step)}`);
  conversation = (run: string, after?: string): Promise<Conversation> =>
    this.#http.get(`/api/runs/${encodeURIComponent(run)}/conversation${after ? `?after=${encodeURIComponent(after)}` : ''}`);
  plan = async (run: string): Promise<string> =>
    (await this.#http.get<{ plan: string }>(`/api/runs/${encodeURIComponent(run)}/plan`)).plan;
  blob = (run: string, hash: string): Promise<Blob> =>
    this.#http.blob(`/api/runs/${encodeURIComponent(run)}/blobs/${encodeURIComponent(hash)}`);
  report = (run: string): Promise<Blob> => this.#http.blob(`/api/runs/${encodeURIComponent(run)}/report`);

  async command(run: string, command: Command): Promise<CommandAnswer> {
    try {
      return await this.#http.post<CommandAnswer>(`/api/runs/${encodeURIComponent(run)}/commands`, command);
    } catch (error) {
      if (error instanceof ApiError) {
        return { refused: true, reason: error.remedy ? `${error.message}. ${error.remedy}` : error.message };
      }
      throw error;
    }
  }
}

function sorted(rows: RunRow[]): RunRow[] {
  return rows.sort((a, b) => (b.started_at ?? 0) - (a.started_at ?? 0));
}
