// The rows of one run, by key. Batches carry whole rows, so applying one twice changes nothing.

import type { Row, RunRows, RunSnapshot } from './model';

export type Applied = 'applied' | 'duplicate' | 'gap';

export class RowTable {
  readonly rows = new Map<string, Row>();
  /** The kinds that changed since `takeChanged` was last called. */
  #changed = new Set<string>();
  /** The journal's sequence number up to which the rows are known; null before the first snapshot. */
  upto: number | null = null;

  snapshot(data: Pick<RunSnapshot, 'seq' | 'rows'>): Applied {
    if (this.upto !== null && data.seq < this.upto) return 'duplicate';
    for (const row of this.rows.values()) this.#changed.add(row.kind);
    this.rows.clear();
    this.#put(data.rows);
    this.upto = data.seq;
    return 'applied';
  }

  batch(data: Pick<RunRows, 'after' | 'upto' | 'upserts' | 'removed'>): Applied {
    if (this.upto === null || data.after > this.upto) return 'gap';
    // A batch without an event says whether a process drives the run, which is not in the journal.
    if (data.upto <= this.upto && !(data.after === this.upto && data.upto === this.upto)) return 'duplicate';
    for (const key of data.removed) {
      const row = this.rows.get(key);
      if (row) this.#changed.add(row.kind);
      this.rows.delete(key);
    }
    this.#put(data.upserts);
    this.upto = data.upto;
    return 'applied';
  }

  takeChanged(): Set<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  of<K extends Row['kind']>(kind: K): Extract<Row, { kind: K }>[] {
    const found: Extract<Row, { kind: K }>[] = [];
    for (const row of this.rows.values()) if (row.kind === kind) found.push(row as Extract<Row, { kind: K }>);
    return found;
  }

  #put(rows: Row[]): void {
    for (const row of rows) {
      this.rows.set(row.key, row);
      this.#changed.add(row.kind);
    }
  }
}
