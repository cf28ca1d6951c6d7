// Statistics over runs, as `GET /api/stats` answers them, and what the charts need of them.

export const RESULTS = ['verified', 'own_test', 'done', 'failed', 'waiting', 'undone', 'partly_undone', 'cancelled', 'planned', 'unfinished'] as const;
export type Result = (typeof RESULTS)[number];
export type Results = Record<Result, number>;

export interface Usage {
  prompt_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  calls: number;
  cost_usd: number;
  unpriced_calls: number;
}

export interface Spread {
  count: number;
  median: number | null;
  p90: number | null;
  longest: number | null;
  total: number;
}

export interface Named {
  name: string;
  count: number;
}

export interface Day {
  day: string;
  results: Results;
  usage: Usage;
}

export interface Statistics {
  version: number;
  at: number;
  since: number | null;
  folder: string | null;
  runs: number;
  unreadable: { run_id: string; problem: string }[];
  results: Results;
  failed_by: Named[];
  seconds: Spread;
  durations: { up_to: number | null; runs: number }[];
  attempts: { steps: number; retries: number; model_retries: number };
  rungs: { rung: string; taken: number; healed: number }[];
  usage: Usage;
  checks: { command: string; times: number; seconds: Spread }[];
  failures: { attempts: number; kinds: Named[]; categories: Named[] };
  models: { model: string; runs: number; results: Results; seconds: Spread; usage: Usage }[];
  days: Day[];
}

/** One column of a chart: parts from the bottom up. */
export interface Column {
  label: string;
  parts: { name: string; value: number; tone: string }[];
}

export const MAX_COLUMNS = 45;
const DAY_MS = 86_400_000;

/** Days without gaps; several days to a column where there would be too many. A column has the date it begins with. */
export function spans(days: readonly Day[], most = MAX_COLUMNS): { from: string; to: string; days: Day[] }[] {
  if (days.length === 0) return [];
  const first = Date.parse(days[0]!.day);
  const count = Math.round((Date.parse(days.at(-1)!.day) - first) / DAY_MS) + 1;
  const size = Math.ceil(count / most);
  const found = Array.from({ length: Math.ceil(count / size) }, (_, n) => ({ from: iso(first + n * size * DAY_MS), to: iso(first + Math.min((n + 1) * size - 1, count - 1) * DAY_MS), days: [] as Day[] }));
  for (const day of days) found[Math.floor(Math.round((Date.parse(day.day) - first) / DAY_MS) / size)]!.days.push(day);
  return found;
}

const iso = (at: number): string => new Date(at).toISOString().slice(0, 10);

export const sum = <T>(items: readonly T[], value: (item: T) => number): number => items.reduce((total, item) => total + value(item), 0);

/** Runs that are over and were not taken back by a person: what shares are shares of. */
export const ended = (results: Results): number => results.verified + results.own_test + results.done + results.failed + results.undone + results.partly_undone;

/** Round marks for an axis from 0 to at least `most`: two to four steps. Counts get whole numbers. */
export function ticks(most: number): number[] {
  if (most <= 0) return [0];
  const power = 10 ** Math.floor(Math.log10(most));
  const step = Math.max([0.5, 1, 2.5, 5].map((part) => part * power).find((size) => most / size <= 4) ?? power * 10, most < 4 ? 1 : 0);
  const whole = most <= 10 ? Math.max(1, Math.round(step)) : step;
  return Array.from({ length: Math.ceil(most / whole) + 1 }, (_, n) => n * whole);
}

export const percent = (part: number, whole: number): string => (whole > 0 ? `${Math.round((part / whole) * 100)}%` : '–');
