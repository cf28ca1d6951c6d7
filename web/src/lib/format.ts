// Numbers and times for people.

import type { RunRow } from './model';

export function duration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '';
  const whole = Math.max(0, seconds);
  if (whole < 0.1) return `${Math.round(whole * 1000)} ms`;
  if (whole < 9.95) return `${whole.toFixed(1)} s`;
  if (whole < 59.5) return `${Math.round(whole)} s`;
  const minutes = Math.floor(Math.max(60, whole) / 60);
  const rest = String(Math.floor(Math.max(60, whole) % 60)).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** A time that is counted on the page, in whole seconds. */
export function seconds(value: number): string {
  const whole = Math.max(0, Math.floor(value));
  return whole < 60 ? `${whole} s` : duration(whole);
}

/** How long a run has worked, up to now if it is working. */
export function elapsed(run: RunRow, now: number): number {
  return run.live && run.status === 'running' ? run.active_seconds + Math.max(0, now - run.updated_at) : run.active_seconds;
}

export function money(usd: number | null): string {
  if (usd === null) return '';
  return `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 0.1 ? 3 : 2)}`;
}

export function compact(count: number): string {
  if (count < 1_000) return String(Math.round(count));
  if (count < 100_000) return `${(count / 1_000).toFixed(1).replace(/\.0$/, '')}k`;
  if (count < 1_000_000) return `${Math.round(count / 1_000)}k`;
  return `${(count / 1_000_000).toFixed(1).replace(/\.0$/, '')}M`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(count < 10_240 ? 1 : 0)} KB`;
  return `${(count / 1024 / 1024).toFixed(1)} MB`;
}

export function firstLine(text: string, limit = 160): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}
