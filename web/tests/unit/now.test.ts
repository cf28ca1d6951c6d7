import { flushSync, mount, unmount } from 'svelte';
import { describe, expect, it } from 'vitest';
import type { ActionRow, RunRow } from '../../src/lib/model';
import { RunView } from '../../src/lib/run.svelte';
import NowStrip from '../../src/ui/NowStrip.svelte';
import { fixture } from './paths';

function watched(): RunView {
  const view = new RunView('x');
  const { snapshot } = fixture('healed');
  view.snapshot({ ...snapshot, rows: snapshot.rows.map((row) => (row.kind === 'run' ? { ...row, live: true } : row)) });
  view.publish();
  return view;
}

const piece = { v: 1, run: 'x', step: 's1' };

describe('what is being written now', () => {
  it('shows the last lines as text, never as markup, and without control sequences', () => {
    const view = watched();
    const shown = mount(NowStrip, { target: document.body, props: { view } });
    const lines = Array.from({ length: 9 }, (_, number) => `line ${number}\n`).join('');
    view.text({ ...piece, id: 'action:a1', kind: 'output', offset: 0, text: `${lines}\u001b[31m<b>red</b>\u001b[0m` });
    view.publish();
    flushSync();
    expect(document.querySelector('pre')?.textContent).toBe('line 5\nline 6\nline 7\nline 8\n<b>red</b>');
    expect(document.querySelector('pre b')).toBeNull();
    void unmount(shown);
  });

  it('says which call is being written, until it is carried out', () => {
    const view = watched();
    const shown = mount(NowStrip, { target: document.body, props: { view } });
    view.text({ ...piece, id: 'c', kind: 'call', offset: 0, text: 'write_file adder.py' });
    view.publish();
    flushSync();
    expect(document.body.textContent).toContain('write_file adder.py');
    const action = { ...view.actions.at(-1), key: 'action:new', kind: 'action', id: 'new', title: 'wrote it' } as ActionRow;
    view.batch({ v: 1, run: 'x', after: view.upto, upto: view.upto + 1, upserts: [action], removed: [] });
    view.publish();
    flushSync();
    expect(document.body.textContent).not.toContain('write_file adder.py');
    void unmount(shown);
  });

  it('shows nothing of a run that no process drives', () => {
    const view = watched();
    view.text({ ...piece, id: 'a', kind: 'text', offset: 0, text: 'half an answer' });
    view.publish();
    expect(view.tail).toBe('half an answer');
    const ended: RunRow = { ...view.run!, live: false };
    view.batch({ v: 1, run: 'x', after: view.upto, upto: view.upto + 1, upserts: [ended], removed: [] });
    view.publish();
    expect(view.tail).toBe('');
  });
});
