// The rows of the plan's table: steps, their attempts when opened, and folded runs of finished steps. Pure.

import type { StepRow, TryRow } from './model';
import { filterOf, stepLook, type Filter, type Look } from './look';

export type PlanRow =
  | { type: 'step'; key: string; step: StepRow; look: Look; tries: readonly TryRow[]; open: boolean }
  | { type: 'try'; key: string; step: StepRow; attempt: TryRow }
  | { type: 'fold'; key: string; steps: readonly StepRow[] };

export interface RowsRequest {
  steps: readonly StepRow[];
  tries: ReadonlyMap<string, readonly TryRow[]>;
  asked: ReadonlySet<string>;
  /** Whether a process drives the run. */
  driven: boolean;
  /** Empty: every step. */
  filters: ReadonlySet<Filter>;
  find: string;
  opened: ReadonlySet<string>;
  /** Fold runs of finished steps when the plan has more steps than this. */
  foldAbove: number;
  selected: string | null;
}

const LEAST = 3;

export function planRows(request: RowsRequest): PlanRow[] {
  const rows: PlanRow[] = [];
  const needle = request.find.trim().toLowerCase();
  const plain = request.filters.size === 0 && needle === '';
  const folding = plain && request.steps.length > request.foldAbove;
  let run: StepRow[] = [];
  /** Behind the others: they are no longer part of the plan. */
  const removed: StepRow[] = [];
  const flush = (): void => {
    const key = `fold:${run[0]?.id ?? ''}`;
    if (run.length >= LEAST && !request.opened.has(key)) rows.push({ type: 'fold', key, steps: run });
    else for (const step of run) pushStep(rows, step, request);
    run = [];
  };
  for (const step of request.steps) {
    const look = stepLook(step, request.asked, request.driven);
    if (request.filters.size > 0 && !request.filters.has(filterOf(look))) continue;
    if (needle && !`${step.id} ${step.name} ${step.description}`.toLowerCase().includes(needle)) continue;
    if (look === 'removed' && plain) {
      removed.push(step);
      continue;
    }
    if (folding && look === 'done' && step.id !== request.selected) {
      run.push(step);
      continue;
    }
    flush();
    pushStep(rows, step, request);
  }
  flush();
  run = removed;
  flush();
  return rows;
}

function pushStep(rows: PlanRow[], step: StepRow, request: RowsRequest): void {
  const tries = request.tries.get(step.id) ?? [];
  const open = request.opened.has(step.key);
  rows.push({ type: 'step', key: step.key, step, look: stepLook(step, request.asked, request.driven), tries, open });
  if (open) for (const attempt of tries) rows.push({ type: 'try', key: attempt.key, step, attempt });
}

export function countFilters(steps: readonly StepRow[], asked: ReadonlySet<string>, driven = true): Record<Filter, number> {
  const counts: Record<Filter, number> = { running: 0, failed: 0, healed: 0, waiting: 0, todo: 0, done: 0, skipped: 0, removed: 0 };
  for (const step of steps) counts[filterOf(stepLook(step, asked, driven))]++;
  return counts;
}

export interface Range {
  from: number;
  to: number;
}

/** The time that all bars together span. */
export function timeRange(steps: readonly StepRow[], now: number): Range {
  let from = Infinity;
  let to = -Infinity;
  for (const step of steps) {
    for (const bar of step.bars) {
      from = Math.min(from, bar.from);
      to = Math.max(to, bar.to ?? now);
    }
  }
  return from < to ? { from, to } : { from: now - 1, to: now };
}

/** Which rows to draw for a scroll position. */
export function windowOf(count: number, rowHeight: number, scrollTop: number, height: number, spare = 6): { start: number; end: number } {
  const start = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight)) - spare);
  return { start, end: Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + spare) };
}
