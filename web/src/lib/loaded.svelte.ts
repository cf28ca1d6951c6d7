// Something fetched when it is shown, and again when its stamp changes or the server is back after a failure.
// The old value stays while the new one comes. However often the stamp changes, one answer is waited for at a time.

import { whenBack } from './connection.svelte';

const AGAIN_MS = 500;

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw('');
  #tries = $state.raw(0);

  /** To be made while a component starts: it lives as long as the component. */
  constructor(load: () => Promise<T>, stamp: () => string, againMs = AGAIN_MS) {
    let subject: string | null = null;
    /** An answer for an earlier subject, or for a component that is gone, is dropped. */
    let turn = 0;
    let busy = false;
    let changed = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = (ms: number): void => {
      timer ??= setTimeout(begin, ms);
    };
    const begin = (): void => {
      const mine = turn;
      const end = (error: string, value = this.value): void => {
        if (mine !== turn) return;
        this.value = value;
        this.error = error;
        busy = false;
        if (changed) wait(againMs);
      };
      timer = undefined;
      busy = true;
      changed = false;
      load().then(
        (value) => end('', value),
        (error: unknown) => end(error instanceof Error ? error.message : String(error)),
      );
    };
    const drop = (): void => {
      turn++;
      busy = false;
      clearTimeout(timer);
      timer = undefined;
    };
    $effect(() => {
      void this.#tries;
      // The part before the line break names the subject; another subject must not show the old one's value.
      const about = stamp().split('\n', 1)[0] ?? '';
      if (about !== subject) {
        subject = about;
        drop();
        this.value = null;
        this.error = '';
        wait(0);
      } else if (busy) changed = true;
      else wait(againMs);
    });
    $effect(() => drop);
    whenBack(() => this.error !== '', () => this.again());
  }

  again(): void {
    this.#tries++;
  }
}
