// The critical path: the chain of steps, each needed by the next, that has taken the most time. Pure.

import type { StepRow } from '../model';

export interface CriticalPath {
  steps: readonly string[];
  seconds: number;
}

/** Steps that have begun. One that was skipped or blocked takes no time, and may still be a part of the chain. */
export function criticalPath(steps: readonly StepRow[], now: number): CriticalPath {
  const begun = new Map(steps.filter((step) => step.revision_removed === null && step.status !== 'pending').map((step) => [step.id, step]));
  const best = new Map<string, { seconds: number; before: string | null }>();
  /** What a step needs comes first. Without calls of itself: a plan may be a chain of thousands. */
  const entered = new Set<string>();
  for (const first of begun.keys()) {
    const todo = [first];
    while (todo.length > 0) {
      const id = todo.at(-1) as string;
      const step = begun.get(id) as StepRow;
      const needs = step.needs.filter((need) => begun.has(need));
      const open = entered.has(id) ? [] : needs.filter((need) => !entered.has(need));
      entered.add(id);
      if (open.length > 0) {
        todo.push(...open);
        continue;
      }
      todo.pop();
      if (best.has(id)) continue;
      let [longest, before] = [0, null as string | null];
      for (const need of needs) {
        // In a plan without cycles, all of them are known here.
        const seconds = best.get(need)?.seconds;
        if (seconds !== undefined && (before === null || seconds > longest)) [longest, before] = [seconds, need];
      }
      best.set(id, { seconds: longest + taken(step, now), before });
    }
  }
  let last: string | null = null;
  for (const [id, { seconds }] of best) if (last === null || seconds > (best.get(last)?.seconds ?? 0)) last = id;
  const found: string[] = [];
  const seconds = last === null ? 0 : (best.get(last)?.seconds ?? 0);
  for (let at = last; at !== null && seconds > 0; at = best.get(at)?.before ?? null) found.unshift(at);
  return { steps: found, seconds };
}

function taken(step: StepRow, now: number): number {
  if (step.started_at === null) return 0;
  const end = step.ended_at ?? (step.status === 'running' ? now : step.started_at);
  return Math.max(0, end - step.started_at);
}
