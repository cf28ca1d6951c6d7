// A report's data: JSON, compressed and written into the page. There is one run, and nothing can be commanded.

import { t } from './i18n/index.svelte';
import type { CommandAnswer, Conversation, FileDiff, Info, Report, RunList, StepDetail } from './model';
import type { RunView } from './run.svelte';
import type { Source } from './source';
import { visibleText } from './visible';

/** Unpack base64 of gzip of JSON. */
export async function unpack(text: string): Promise<Report> {
  const packed = Uint8Array.from(atob(text.replace(/\s+/g, '')), (character) => character.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return clear(JSON.parse(await new Response(plain).text()) as Report);
}

/** What is shown as it is elsewhere: components show hidden characters in these, or nobody reads them. */
const AS_IT_IS = new Set(['diff', 'step_diffs', 'blobs', 'conversation', 'log', 'detail', 'key', 'id', 'step', 'needs']);

/** Names and messages in which no character can turn the text around it. */
function clear<T>(value: T): T {
  if (typeof value === 'string') return visibleText(value) as T;
  if (Array.isArray(value)) return value.map(clear) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, AS_IT_IS.has(name) ? item : clear(item)])) as T;
}

const refuse = (): Promise<never> => Promise.reject(new Error('a report cannot do this'));

export class ReportSource implements Source {
  readonly live = false;
  constructor(readonly data: Report) {}

  watch(view: RunView): () => void {
    view.snapshot(this.data);
    view.publish();
    return () => undefined;
  }
  diff(_run: string, step?: string): Promise<FileDiff[]> {
    return Promise.resolve(step === undefined ? this.data.diff : (this.data.step_diffs[step] ?? []));
  }
  step(_run: string, step: string): Promise<StepDetail> {
    const row = this.data.rows.find((item) => item.kind === 'step' && item.id === step);
    if (row?.kind !== 'step') return Promise.reject(new Error(step));
    const empty = { attempts: [], actions: [], proofs: [], artifacts: [], log: '' };
    return Promise.resolve({ ...empty, ...this.data.steps[step], step: row });
  }
  conversation(): Promise<Conversation> {
    return Promise.resolve({ messages: this.data.conversation, next: null });
  }
  blob(_run: string, hash: string): Promise<Blob> {
    const text = this.data.blobs[hash];
    return text === undefined ? Promise.reject(new Error(t('report.notPart'))) : Promise.resolve(new Blob([text]));
  }
  info = (): Promise<Info> => refuse();
  runs = (): Promise<RunList> => refuse();
  start = (): Promise<string> => refuse();
  plan = (): Promise<string> => refuse();
  report = (): Promise<Blob> => refuse();
  command = (): Promise<CommandAnswer> => refuse();
}
