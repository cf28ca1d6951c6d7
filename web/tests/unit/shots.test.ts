import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { web } from './paths';

const ROOT = `${web}/..`;

describe('the pictures of README and docs', () => {
  const used = ['README.md', 'docs/guides/page.md'].flatMap((file) => [...readFileSync(`${ROOT}/${file}`, 'utf8').matchAll(/images\/(page-[\w-]+\.webp)/g)].map((match) => match[1]!));

  it('are there in both themes, and small', () => {
    expect(used.length).toBeGreaterThan(4);
    for (const name of used) {
      const path = `${ROOT}/docs/images/${name}`;
      expect(existsSync(path), name).toBe(true);
      expect(statSync(path).size, name).toBeLessThan(150_000);
      expect(used, 'the other theme').toContain(name.includes('-light.') ? name.replace('-light.', '-dark.') : name.replace('-dark.', '-light.'));
    }
  });

  it('are all used', () => {
    expect(readdirSync(`${ROOT}/docs/images`).filter((name) => name.startsWith('page-') && !used.includes(name))).toEqual([]);
  });
});
