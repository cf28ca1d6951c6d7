import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunRows, RunSnapshot } from '../../src/lib/model';

export const web = join(import.meta.dirname, '../..');

export interface Fixture {
  snapshot: RunSnapshot;
  batches: RunRows[];
  end: RunSnapshot;
}

export const fixture = (name: string): Fixture => JSON.parse(readFileSync(join(web, `fixtures/${name}.json`), 'utf8')) as Fixture;
