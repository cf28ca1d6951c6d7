import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, describe, expect, it } from 'vitest';
import { ReportSource, unpack } from '../../src/lib/embedded';
import { en } from '../../src/lib/i18n/en';
import { words } from '../../src/lib/i18n/index.svelte';
import { zh } from '../../src/lib/i18n/zh';
import type { Report } from '../../src/lib/model';
import { router } from '../../src/lib/route.svelte';
import ReportApp from '../../src/ui/ReportApp.svelte';
import { fixture, web } from './paths';

const environment = { surefoot: ['0'], system: [], model: ['scripted'], traits: {}, sandbox: [], starts: 1, settings: {} };
const limits = { file_bytes: 10_000_000, log_end_chars: 65_536, message_chars: 20_000, patch_lines: 2_000 };
const report = (name: string): Report => ({
  ...fixture(name).end, v: 1, generated_at: 0, version: '0', locale: 'en', ended: true, checks: [], tests: null, files: { added: [], modified: [], deleted: [], tool_files: 0 }, notes: [], unproven_steps: [], undone: null, branch: '', commits: [], pushes: [],
  recoveries: [], usage: [], environment, diff: [], diff_problem: '', step_diffs: {}, steps: {}, conversation: [], blobs: {}, omitted: [], limits,
});

describe('languages', () => {
  it('have the same keys and the same values to fill in', () => {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
    const holes = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();
    for (const key of Object.keys(en) as (keyof typeof en)[]) {
      expect(holes(zh[key]), key).toEqual(holes(en[key]));
      expect(zh[key].trim(), key).not.toBe('');
    }
  });
  it('count', () => {
    words.language = 'en';
    expect([words.count('steps', 1), words.count('steps', 2)]).toEqual(['1 step', '2 steps']);
    words.language = 'zh';
    expect(words.count('steps', 2)).toBe('2 个步骤');
    words.language = 'en';
  });
});

describe('the source', () => {
  const files = readdirSync(join(web, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => /\.(svelte|ts)$/.test(name));
  it('never makes HTML of text', () => {
    for (const name of files) {
      expect(readFileSync(join(web, 'src', name), 'utf8'), name).not.toMatch(/\{@html|innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function/);
    }
  });
  it('sets no style in an attribute, which the policy forbids', () => {
    for (const name of files) expect(readFileSync(join(web, 'src', name), 'utf8'), name).not.toMatch(/\sstyle="/);
  });
});

describe('the page', () => {
  let shown: Record<string, unknown> | null = null;
  afterEach(() => {
    if (shown) void unmount(shown);
    document.body.replaceChildren();
  });
  function show(name: string, step: string | null = null): void {
    const data = report(name);
    router.route = { page: 'run', run: data.run, step, tab: '' };
    shown = mount(ReportApp, { target: document.body, props: { source: new ReportSource(data) } });
    flushSync();
  }

  it('shows a plan of 500 steps with at most 1,500 nodes', () => {
    show('many');
    const grid = document.querySelector('[role=treegrid]');
    expect(Number(grid?.getAttribute('aria-rowcount'))).toBeGreaterThan(100);
    const nodes = document.querySelectorAll('*').length;
    expect(nodes).toBeGreaterThan(200);
    expect(nodes).toBeLessThanOrEqual(1_500);
  });
  it('shows how a step was healed', () => {
    show('healed', 'write');
    const text = document.body.textContent ?? '';
    for (const part of ['recovered', 'Attempt 1', 'AssertionError: add(2, 3) is -1', 'adjust', 'undone', 'Attempt 2']) expect(text).toContain(part);
  });
  it('shows the open question with its command, and its number in the title', () => {
    show('asking');
    expect(document.querySelector('[data-question] pre')?.textContent).toBe('python3 -m pip install ./vendor/helper && rm -rf build');
    expect(document.title).toMatch(/^\(1\) /);
  });
});

describe('a report', () => {
  it('unpacks its data', async () => {
    const data = report('healed');
    const packed = await new Response(new Blob([JSON.stringify(data)]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
    expect(await unpack(`\n ${Buffer.from(packed).toString('base64')}\n`)).toEqual(data);
  });
});
