// What every part of the page can reach: the source of data, the commands sent, and what the server said of itself.

import { createContext } from 'svelte';
import type { Commands } from './commands.svelte';
import type { Source } from './source';

export interface App {
  source: Source;
  commands: Commands;
  /** Whether this page may command: a control token, and not a report. */
  readonly control: boolean;
  /** Whether the server said that this page may only look. */
  readonly viewOnly: boolean;
}

export const [getApp, setApp] = createContext<App>();
