import { describe, expect, it } from 'vitest';
import type { QuestionRow, Row } from '../../src/lib/model';
import { RowTable } from '../../src/lib/rows';
import { RunView } from '../../src/lib/run.svelte';
import { StreamTail } from '../../src/lib/stream';
import { fixture } from './paths';

const byKey = (rows: Iterable<Row>): Record<string, Row> => Object.fromEntries([...rows].map((row) => [row.key, row]));

describe('rows', () => {
  it.each(['healed', 'asking', 'asking_diff', 'many'])('a snapshot and the batches after it give the end of %s', (name) => {
    const { snapshot, batches, end } = fixture(name);
    const table = new RowTable();
    table.snapshot(snapshot);
    for (const batch of batches) expect(table.batch(batch)).toBe('applied');
    // A snapshot names only the newest actions; a client that watched all along has the older ones too.
    const known = byKey(table.rows.values());
    for (const row of end.rows) expect(known[row.key]).toEqual(row);
    expect(table.upto).toBe(end.seq);
  });

  it('drops a batch that it has, and applies an overlapping one', () => {
    const { snapshot, batches, end } = fixture('healed');
    const table = new RowTable();
    table.snapshot(snapshot);
    for (const batch of batches) {
      table.batch(batch);
      expect(table.batch(batch)).toBe('duplicate');
    }
    const before = byKey(table.rows.values());
    expect(table.batch({ after: end.seq - 3, upto: end.seq + 1, upserts: [], removed: [] })).toBe('applied');
    expect(byKey(table.rows.values())).toEqual(before);
  });

  it('takes a change without an event: whether a process drives the run', () => {
    const { end } = fixture('healed');
    const table = new RowTable();
    table.snapshot(end);
    const run = { ...table.of('run')[0]!, live: true };
    expect(table.batch({ after: end.seq, upto: end.seq, upserts: [run], removed: [] })).toBe('applied');
    expect(table.of('run')[0]!.live).toBe(true);
  });

  it('reports a gap and changes nothing', () => {
    const { snapshot, batches } = fixture('healed');
    const table = new RowTable();
    expect(table.batch(batches[0]!)).toBe('gap');
    table.snapshot(snapshot);
    const before = byKey(table.rows.values());
    expect(table.batch(batches[1]!)).toBe('gap');
    expect(byKey(table.rows.values())).toEqual(before);
  });

  it('does not go back to an older snapshot', () => {
    const { snapshot, end } = fixture('healed');
    const table = new RowTable();
    table.snapshot(end);
    expect(table.snapshot(snapshot)).toBe('duplicate');
    expect(table.upto).toBe(end.seq);
  });

  it('removes rows by key', () => {
    const table = new RowTable();
    table.snapshot(fixture('asking').end);
    const question = table.of('question')[0] as QuestionRow;
    table.batch({ after: table.upto!, upto: table.upto! + 1, upserts: [], removed: [question.key] });
    expect(table.of('question').map((row) => row.key)).not.toContain(question.key);
  });
});

describe('the view of a run', () => {
  it('lists only open questions as open', () => {
    const view = new RunView('x');
    view.snapshot(fixture('asking').end);
    view.publish();
    expect(view.questions).toHaveLength(2);
    expect(view.open.map((question) => question.answer)).toEqual([null]);
  });

  it('makes new lists only for kinds that changed', () => {
    const view = new RunView('x');
    const { end } = fixture('many');
    view.snapshot(end);
    view.publish();
    const { steps, phases } = view;
    view.batch({ v: 1, run: 'x', after: end.seq, upto: end.seq + 1, upserts: [{ ...view.run!, reason: 'new' }], removed: [] });
    view.publish();
    expect(view.run?.reason).toBe('new');
    expect(view.steps).toBe(steps);
    expect(view.phases).toBe(phases);
  });
});

describe('streamed text', () => {
  it('joins pieces, ignores repeats, and shows a gap', () => {
    const tail = new StreamTail();
    tail.add({ id: 'a', offset: 0, text: 'one ' });
    tail.add({ id: 'a', offset: 0, text: 'one ' });
    tail.add({ id: 'a', offset: 2, text: 'e two' });
    expect(tail.text).toBe('one two');
    tail.add({ id: 'a', offset: 20, text: 'three' });
    expect(tail.text).toBe('one two\n…\nthree');
    tail.add({ id: 'b', offset: 0, text: 'new' });
    expect(tail.text).toBe('new');
  });

  it('counts characters as the server does, also those outside the basic plane', () => {
    const tail = new StreamTail();
    tail.add({ id: 'a', offset: 0, text: 'a😀' });
    tail.add({ id: 'a', offset: 2, text: 'b' });
    expect(tail.text).toBe('a😀b');
  });

  it('says which call is being written until something else is', () => {
    const tail = new StreamTail();
    tail.add({ id: 'a', offset: 0, text: 'I write it.' });
    tail.add({ id: 'b', offset: 0, text: 'write_file a.py', kind: 'call' });
    expect([tail.text, tail.call]).toEqual(['I write it.', 'write_file a.py']);
    tail.add({ id: 'c', offset: 0, text: 'ok', kind: 'output' });
    expect([tail.text, tail.call]).toEqual(['ok', '']);
  });
});
