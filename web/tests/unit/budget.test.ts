// The sizes of what was built. `npm run build` comes first; without it there is nothing to measure, and that is a failure.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { web } from './paths';

const folder = join(web, '../src/surefoot/server/static');
const size = (path: string): number => gzipSync(readFileSync(path), { level: 9 }).length;

describe('the budget', () => {
  it('holds: 120 KB to begin with, 200 KB in all', () => {
    expect(existsSync(join(folder, 'index.html')), 'run `npm run build` first').toBe(true);
    const index = readFileSync(join(folder, 'index.html'), 'utf8');
    const files = readdirSync(join(folder, 'assets')).filter((name) => /\.(js|css)$/.test(name));
    const sizes = files.map((name) => ({ name, first: index.includes(name), size: size(join(folder, 'assets', name)) }));
    const first = sizes.filter((file) => file.first).reduce((sum, file) => sum + file.size, 0);
    const all = sizes.reduce((sum, file) => sum + file.size, 0);
    console.info(`entry and style ${first} bytes, everything ${all} bytes, gzip`);
    expect(sizes.filter((file) => file.first).length).toBeGreaterThanOrEqual(2);
    expect(first).toBeLessThanOrEqual(120 * 1024);
    expect(all).toBeLessThanOrEqual(200 * 1024);
    for (const name of files) expect(existsSync(join(folder, 'assets', `${name}.gz`)), name).toBe(true);
  });
});
