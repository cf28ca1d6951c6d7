import { describe, expect, it } from 'vitest';
import { ansiSpans } from '../../src/lib/ansi';
import { choicesOf, headline } from '../../src/lib/answers';
import { foldContext, pairLines, parsePatch } from '../../src/lib/diff';
import { foldPlan, reduce, type PlanNode } from '../../src/lib/graph/fold';
import { placeNodes } from '../../src/lib/graph/dagre';
import { duration, elapsed, seconds } from '../../src/lib/format';
import { phaseSpan, stepLook, type Look } from '../../src/lib/look';
import type { QuestionRow, RunRow, StepRow } from '../../src/lib/model';
import { countFilters, planRows, windowOf } from '../../src/lib/planrows';
import { formatRoute, parseRoute } from '../../src/lib/route.svelte';
import { readFragment } from '../../src/lib/token';
import { TURNING, hiddenCount, visibleParts } from '../../src/lib/visible';

describe('times', () => {
  it('are rounded to what the next unit is not yet', () => {
    expect([0.05, 3.14, 9.97, 12.4, 59.7, 60, 3_661].map(duration)).toEqual(['50 ms', '3.1 s', '10 s', '12 s', '1:00', '1:00', '1:01:01']);
  });
  it('are whole seconds where they are counted', () => {
    expect([-1, 0.4, 8.1, 59.9, 75.3].map(seconds)).toEqual(['0 s', '0 s', '8 s', '59 s', '1:15']);
  });
});

describe('patches', () => {
  const patch = '--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@ def f\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n';

  it('reads files, numbers and counts', () => {
    const [first, second] = parsePatch(patch);
    expect([first!.path, first!.added, first!.removed, first!.hunks[0]!.heading]).toEqual(['x.py', 2, 1, 'def f']);
    expect(first!.hunks[0]!.lines.map((line) => [line.kind, line.old, line.new])).toEqual([['context', 1, 1], ['del', 2, null], ['add', null, 2], ['add', null, 3], ['context', 3, 4], ['note', null, null]]);
    expect([second!.path, second!.from, second!.added]).toEqual(['new.txt', null, 1]);
  });

  it('takes lines that look like headers for content, by the lengths of the hunk', () => {
    const [file, ...rest] = parsePatch('--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/evil\n+++ b/evil\n same\n');
    expect(rest).toEqual([]);
    expect(file!.hunks[0]!.lines.map((line) => line.text)).toEqual(['-- a/evil', '++ b/evil', 'same']);
  });

  it('reads git headers and binary files', () => {
    const files = parsePatch('diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n');
    expect(files).toMatchObject([{ path: 'i.png', binary: true, hunks: [] }]);
  });

  it('pairs removed and added lines', () => {
    const pairs = pairLines(parsePatch(patch)[0]!.hunks[0]!.lines);
    expect(pairs.slice(1, 3).map((pair) => [pair.left?.text ?? null, pair.right?.text ?? null])).toEqual([['b', 'c'], [null, 'd']]);
  });

  it('folds unchanged lines and loses none', () => {
    const lines = parsePatch(`--- a/x\n+++ b/x\n@@ -1,20 +1,20 @@\n${' same\n'.repeat(10)}-old\n+new\n${' same\n'.repeat(9)}`)[0]!.hunks[0]!.lines;
    const pieces = foldContext(lines);
    expect(pieces.map((piece) => [piece.folded, piece.lines.length])).toEqual([[true, 7], [false, 8], [true, 6]]);
    expect(pieces.flatMap((piece) => piece.lines)).toEqual(lines);
  });
});

describe('hidden characters', () => {
  it('names bidi, zero-width, control and tag characters', () => {
    const text = 'rm \u202e x\u200b\u001b[31m\u{e0041}\u2066\r';
    expect(visibleParts(text).flatMap((part) => part.hidden ?? [])).toEqual(['U+202E RLO', 'U+200B ZWSP', 'U+001B ESC', 'U+E0041', 'U+2066 LRI', 'U+000D CR']);
    expect(visibleParts(text).map((part) => part.text).join('')).toBe(text);
  });
  it('leaves ordinary text alone, in any language', () => {
    expect(hiddenCount('echo "a"\n\tls  -l  # 中文，é 🙂')).toBe(0);
  });
});

describe('labels', () => {
  it('name what turns text around, and leave the parts of an emoji alone', () => {
    expect(visibleParts('a\u202eb', TURNING).map((part) => part.hidden ?? part.text)).toEqual(['a', 'U+202E RLO', 'b']);
    expect(visibleParts('\u2714\ufe0f \u{1f469}\u200d\u{1f4bb}', TURNING)).toHaveLength(1);
    expect(hiddenCount('\u2714\ufe0f')).toBe(1);
  });
});

describe('colours of a terminal', () => {
  it('become spans, and everything else of a terminal goes', () => {
    expect(ansiSpans('a\u001b[1;31mb\u001b[0mc\u001b]0;title\u0007d\u001b[2Je')).toEqual([
      { text: 'a', colour: '', bold: false }, { text: 'b', colour: 'red', bold: true }, { text: 'c', colour: '', bold: false }, { text: 'd', colour: '', bold: false }, { text: 'e', colour: '', bold: false },
    ]);
  });
});

const node = (id: string, needs: string[], look: Look = 'done'): PlanNode => ({ id, needs, look });

describe('folding of plans', () => {
  const chain = [node('a', []), node('b', ['a']), node('c', ['b'], 'healed'), node('d', ['c']), node('e', ['d'], 'running')];

  it('leaves small plans alone', () => {
    expect(foldPlan(chain, 40).nodes.map((item) => item.id)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
  it('folds a chain with its worst state, and never what is running', () => {
    const { nodes, edges } = foldPlan(chain, 3);
    expect(nodes).toEqual([{ id: 'chain:a', members: ['a', 'b', 'c', 'd'], look: 'healed' }, { id: 'e', members: ['e'], look: 'running' }]);
    expect(edges).toEqual([{ from: 'chain:a', to: 'e' }]);
    expect(foldPlan(chain, 3, new Set(['chain:a'])).nodes).toHaveLength(5);
  });
  it('folds a fan of steps with the same neighbours', () => {
    const fan = [node('s', []), ...['1', '2', '3', '4'].map((id) => node(id, ['s'])), node('t', ['1', '2', '3', '4']), node('f', ['s'], 'failed')];
    expect(foldPlan(fan, 2).nodes.map((item) => item.id)).toEqual(['s', 'fan:1', 't', 'f']);
  });
  it('folds every step exactly once in a plan of 500', () => {
    const plan = Array.from({ length: 500 }, (_, i) => node(`n${i}`, i === 0 ? [] : [`n${Math.floor((i - 1) / 3)}`], i % 97 === 0 ? 'failed' : 'done'));
    const members = foldPlan(plan, 40).nodes.flatMap((item) => item.members);
    expect(members.length).toBe(500);
    expect(new Set(members).size).toBe(500);
  });
  it('leaves out edges that another way implies', () => {
    expect(reduce([{ from: 'a', to: 'b' }, { from: 'b', to: 'c' }, { from: 'a', to: 'c' }])).toEqual([{ from: 'a', to: 'b' }, { from: 'b', to: 'c' }]);
  });
  it('places nodes without overlap, dependencies to the right', () => {
    const { places } = placeNodes({ nodes: ['a', 'b', 'c'], edges: [{ from: 'a', to: 'b' }, { from: 'a', to: 'c' }], width: 100, height: 40 });
    expect(places['b']!.x).toBeGreaterThan(places['a']!.x + 100);
    expect(Math.abs(places['b']!.y - places['c']!.y)).toBeGreaterThanOrEqual(40);
  });
});

describe('states of steps and runs', () => {
  const step = (id: string, more: Partial<StepRow> = {}): StepRow => ({ key: `step:${id}`, id, name: id, description: '', status: 'pending', ready: false, revision_removed: null, ...more }) as StepRow;
  const run = (more: Partial<RunRow>): RunRow => ({ status: 'running', stage: 'execution', live: true, active_seconds: 5, updated_at: 100, steps: { total: 0, done: 0, skipped: 0 }, ...more }) as RunRow;

  it('take a step that was begun for interrupted when no process drives the run', () => {
    const begun = step('a', { status: 'running' });
    expect([stepLook(begun), stepLook(begun, new Set(), false), stepLook(begun, new Set(['a']), false)]).toEqual(['running', 'interrupted', 'waiting']);
    expect(countFilters([begun], new Set(), false)).toMatchObject({ running: 0, todo: 1 });
  });

  it('let the clock of a run stand still when no process drives it', () => {
    expect([elapsed(run({}), 110), elapsed(run({ live: false }), 110), elapsed(run({ status: 'done' }), 110)]).toEqual([15, 5, 5]);
  });

  it('say how far a run is, and no more than is known', () => {
    const steps = { total: 3, done: 1, skipped: 0 } as RunRow['steps'];
    expect(phaseSpan(run({ stage: 'recovery' }))).toEqual({ done: 3, until: 4 });
    expect(phaseSpan(run({ status: 'done', stage: 'completed' }))).toEqual({ done: 5, until: 5 });
    expect(phaseSpan(run({ status: 'plan', stage: 'completed', steps }))).toEqual({ done: 3, until: 3 });
    expect(phaseSpan(run({ status: 'waiting', stage: 'waiting' }))).toEqual({ done: 0, until: 3 });
    expect(phaseSpan(run({ status: 'failed', stage: 'failed', steps }))).toEqual({ done: 3, until: 4 });
    expect(phaseSpan(run({ status: 'failed', stage: 'failed', steps: { ...steps, done: 3 } }))).toEqual({ done: 4, until: 5 });
  });

  it('put removed steps behind the others, folded, and show them when they are looked for', () => {
    const steps = [step('r1', { revision_removed: 2 }), step('a'), step('r2', { revision_removed: 2 }), step('r3', { revision_removed: 2 }), step('b')];
    const request = { steps, tries: new Map(), asked: new Set<string>(), driven: true, filters: new Set<never>(), find: '', opened: new Set<string>(), foldAbove: 40, selected: null };
    expect(planRows(request).map((row) => (row.type === 'fold' ? row.steps.length : row.key))).toEqual(['step:a', 'step:b', 3]);
    expect(planRows({ ...request, opened: new Set(['fold:r1']) }).map((row) => row.key)).toEqual(['step:a', 'step:b', 'step:r1', 'step:r2', 'step:r3']);
    expect(planRows({ ...request, find: 'r' }).map((row) => row.key)).toEqual(['step:r1', 'step:r2', 'step:r3']);
  });
});

describe('windows', () => {
  it('cover what is seen, within bounds', () => {
    expect(windowOf(500, 34, 3400, 680)).toEqual({ start: 94, end: 126 });
    expect(windowOf(3, 34, 0, 680)).toEqual({ start: 0, end: 3 });
    expect(windowOf(2, 34, 99999, 680)).toEqual({ start: 0, end: 2 });
  });
});

describe('addresses', () => {
  it('give up their token', () => {
    expect(readFragment('#t=abc')).toEqual({ token: 'abc', fragment: '#/' });
    expect(readFragment('#t=abc&run=r1')).toEqual({ token: 'abc', fragment: '#/run/r1' });
    expect(readFragment('#/run/r1/step/s?t=abc')).toEqual({ token: 'abc', fragment: '#/run/r1/step/s' });
    expect(readFragment('#/run/r1')).toEqual({ token: null, fragment: '#/run/r1' });
  });
  it('go to a route and back', () => {
    for (const text of ['#/', '#/new', '#/run/a%2Fb', '#/run/r/diff', '#/run/r/step/s%201/log']) expect(formatRoute(parseRoute(text))).toBe(text);
  });
});

describe('questions', () => {
  const base: QuestionRow = { key: 'question:1', kind: 'question', id: '1', qkind: 'approval', text: 'run it\n  command: ls', why: '', options: [], command: 'ls', diff: null, hash: 'h', step: null, asked_at: 0, times_out_at: null, answer: null, answered_by: null, draft_blob: null };
  const option = (value: string) => ({ value, label: value, key: '', danger: false });

  it('put deny first and allow last', () => {
    const roles = choicesOf({ ...base, options: ['yes', 'no', 'always run(ls)', 'edit: '].map(option) }).map((choice) => [choice.role, choice.rule]);
    expect(roles).toEqual([['deny', ''], ['edit', ''], ['allowRun', 'run(ls)'], ['allow', '']]);
  });
  it('of an unknown kind still offer allow and deny', () => {
    expect(choicesOf({ ...base, qkind: 'never_seen' }).map((choice) => choice.role)).toEqual(['deny', 'allow']);
  });
  it('with nothing to choose ask for words', () => {
    expect(choicesOf({ ...base, command: null })).toEqual([]);
  });
  it('do not repeat the command in their text', () => {
    expect(headline(base)).toBe('run it');
  });
});
