// How a step, a phase, an action or a run looks: one word, one icon and one tone for each state. Pure.

import type { ActionRow, PhaseRow, RunRow, StepRow } from './model';

export type Tone = 'run' | 'good' | 'bad' | 'healed' | 'ask' | 'quiet' | 'plain';
export type Look = 'running' | 'failed' | 'waiting' | 'healed' | 'ready' | 'pending' | 'done' | 'partial' | 'degraded' | 'skipped' | 'blocked' | 'removed' | 'paused' | 'interrupted' | 'undone' | 'refused' | 'unverified' | 'plan' | 'queued';
export type IconName = 'play' | 'cross' | 'ask' | 'healed' | 'ready' | 'dot' | 'check' | 'half' | 'skip' | 'block' | 'minus' | 'pause' | 'bolt' | 'undo' | 'tilde';

export const LOOKS: Record<Look, { icon: IconName; tone: Tone }> = {
  running: { icon: 'play', tone: 'run' },
  failed: { icon: 'cross', tone: 'bad' },
  waiting: { icon: 'ask', tone: 'ask' },
  healed: { icon: 'healed', tone: 'healed' },
  ready: { icon: 'ready', tone: 'plain' },
  pending: { icon: 'dot', tone: 'quiet' },
  done: { icon: 'check', tone: 'good' },
  partial: { icon: 'half', tone: 'healed' },
  degraded: { icon: 'half', tone: 'healed' },
  skipped: { icon: 'skip', tone: 'quiet' },
  blocked: { icon: 'block', tone: 'quiet' },
  removed: { icon: 'minus', tone: 'quiet' },
  paused: { icon: 'pause', tone: 'ask' },
  interrupted: { icon: 'bolt', tone: 'ask' },
  undone: { icon: 'undo', tone: 'quiet' },
  refused: { icon: 'block', tone: 'bad' },
  unverified: { icon: 'tilde', tone: 'ask' },
  plan: { icon: 'ready', tone: 'good' },
  queued: { icon: 'dot', tone: 'ask' },
};

/** Worst first: what a folded group of steps shows. */
export const WORST: readonly Look[] = ['failed', 'waiting', 'running', 'interrupted', 'healed', 'degraded', 'partial', 'blocked', 'ready', 'pending', 'skipped', 'removed', 'done'];

export function worst(looks: Iterable<Look>): Look {
  let found: Look = 'done';
  for (const look of looks) if (WORST.indexOf(look) < WORST.indexOf(found)) found = look;
  return found;
}

/** `driven`: a process drives the run. Without one, a step that was begun is interrupted. */
export function stepLook(step: StepRow, asked: ReadonlySet<string> = new Set(), driven = true): Look {
  if (step.revision_removed !== null && step.revision_removed !== undefined) return 'removed';
  if (asked.has(step.id)) return 'waiting';
  switch (step.status) {
    case 'running':
      return driven ? 'running' : 'interrupted';
    case 'succeeded':
      return step.degraded ? 'degraded' : step.healed ? 'healed' : 'done';
    case 'partial':
      return 'partial';
    case 'degraded':
      return 'degraded';
    case 'failed':
      return 'failed';
    case 'skipped':
      return 'skipped';
    case 'blocked':
      return 'blocked';
    default:
      return step.ready ? 'ready' : 'pending';
  }
}

export function phaseLook(phase: PhaseRow): Look {
  const looks = { pending: 'pending', running: 'running', success: 'done', failed: 'failed', skipped: 'skipped', awaiting_confirmation: 'waiting' } as const;
  return looks[phase.status] ?? 'pending';
}

export function actionLook(action: ActionRow, driven = true): Look {
  if (action.status === 'running' && !driven) return 'interrupted';
  const looks = { running: 'running', ok: 'done', failed: 'failed', refused: 'refused', interrupted: 'interrupted' } as const;
  return looks[action.status] ?? 'pending';
}

export function runLook(run: RunRow): Look {
  if (run.open_questions > 0 && run.status !== 'done' && run.status !== 'failed') return 'waiting';
  if (run.status === 'done') return run.verdict === 'unverified' ? 'unverified' : 'done';
  return run.status;
}

/** How far a run is in its five phases: `done` are behind it, and it is in one of those up to `until`. */
export function phaseSpan(run: RunRow): { done: number; until: number } {
  if (run.status === 'done') return { done: 5, until: 5 };
  if (run.status === 'plan') return { done: 3, until: 3 };
  const at = ['understanding', 'approach', 'planning', 'execution', 'validation'].indexOf(run.stage === 'recovery' ? 'execution' : run.stage);
  if (at >= 0) return { done: at, until: at + 1 };
  // A run that waits or has failed does not say where. Without a plan it is before the work, else in it or behind it.
  if (run.steps.total === 0) return { done: 0, until: 3 };
  return run.steps.done + run.steps.skipped === run.steps.total ? { done: 4, until: 5 } : { done: 3, until: 4 };
}

export type Filter = 'running' | 'failed' | 'healed' | 'waiting' | 'todo' | 'done' | 'skipped' | 'removed';
export const FILTERS: readonly Filter[] = ['running', 'waiting', 'failed', 'healed', 'todo', 'done', 'skipped', 'removed'];

const FILTER_OF: Partial<Record<Look, Filter>> = {
  running: 'running', waiting: 'waiting', failed: 'failed', healed: 'healed', degraded: 'healed', partial: 'healed',
  ready: 'todo', pending: 'todo', interrupted: 'todo', done: 'done', skipped: 'skipped', blocked: 'skipped', removed: 'removed',
};

export function filterOf(look: Look): Filter {
  return FILTER_OF[look] ?? 'todo';
}
