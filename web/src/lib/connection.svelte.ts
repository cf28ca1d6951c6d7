// How often the page has connected to its server, so that what failed while the server was away is tried again.

import { untrack } from 'svelte';

class Connection {
  times = $state.raw(0);
}

export const connection = new Connection();

/** Try again what has failed each time the page has connected again. To be called while a component starts. */
export function whenBack(failed: () => boolean, again: () => void): void {
  let failedAt: number | null = null;
  $effect(() => {
    const { times } = connection;
    if (!failed()) failedAt = null;
    else if (failedAt === null) failedAt = times;
    else if (failedAt !== times) {
      failedAt = times;
      untrack(again);
    }
  });
}
