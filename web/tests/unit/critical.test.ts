import { describe, expect, it } from 'vitest';
import { criticalPath } from '../../src/lib/graph/critical';
import type { StepRow } from '../../src/lib/model';

const step = (id: string, needs: string[], from: number | null, to: number | null, status: StepRow['status'] = 'succeeded'): StepRow =>
  ({ key: `step:${id}`, kind: 'step', id, needs, started_at: from, ended_at: to, status, revision_removed: null }) as unknown as StepRow;

describe('the critical path', () => {
  it('is the chain that took the longest, not the one with the most steps', () => {
    const steps = [step('a', [], 0, 1), step('b', ['a'], 1, 3), step('c', ['b'], 3, 4), step('d', ['a'], 1, 9), step('e', ['c', 'd'], 9, 10)];
    expect(criticalPath(steps, 99)).toEqual({ steps: ['a', 'd', 'e'], seconds: 10 });
  });

  it('grows with a step that runs, and leaves out what has not begun', () => {
    const steps = [step('a', [], 0, 4), step('b', [], 0, null, 'running'), step('c', ['a'], null, null, 'pending')];
    expect(criticalPath(steps, 3)).toEqual({ steps: ['a'], seconds: 4 });
    expect(criticalPath(steps, 6)).toEqual({ steps: ['b'], seconds: 6 });
  });

  it('goes through a step that was skipped, and leaves out what a revision removed', () => {
    const gone = { ...step('x', ['a'], 0, 100), revision_removed: 2 };
    const steps = [step('a', [], 0, 2), step('b', ['a'], null, null, 'skipped'), step('c', ['b'], 2, 5), gone];
    expect(criticalPath(steps, 99)).toEqual({ steps: ['a', 'b', 'c'], seconds: 5 });
  });

  it('is empty before anything has begun, and manages a long chain and a cycle', () => {
    expect(criticalPath([step('a', [], null, null, 'pending')], 1)).toEqual({ steps: [], seconds: 0 });
    const chain = Array.from({ length: 3_000 }, (_, n) => step(`s${n}`, n > 0 ? [`s${n - 1}`] : [], n, n + 1));
    expect(criticalPath(chain.toReversed(), 0).steps).toHaveLength(3_000);
    expect(criticalPath([step('a', ['b'], 0, 1), step('b', ['a'], 0, 1)], 1).steps.length).toBeGreaterThan(0);
  });
});
