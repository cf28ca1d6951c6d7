// One list of keys: it is what the help shows and what the handlers look up.

import type { Key } from './i18n/index.svelte';

export const KEYS: readonly { keys: string; does: Key; group: Key }[] = [
  { keys: '?', does: 'key.help', group: 'keys.everywhere' },
  { keys: 'n', does: 'key.new', group: 'keys.everywhere' },
  { keys: 'h', does: 'key.home', group: 'keys.everywhere' },
  { keys: 'i', does: 'key.stats', group: 'keys.everywhere' },
  { keys: 't', does: 'key.theme', group: 'keys.everywhere' },
  { keys: 'l', does: 'key.language', group: 'keys.everywhere' },
  { keys: 'j ↓ / k ↑', does: 'key.move', group: 'keys.plan' },
  { keys: 'Enter', does: 'key.open', group: 'keys.plan' },
  { keys: '→ / ←', does: 'key.expand', group: 'keys.plan' },
  { keys: 'g', does: 'key.graph', group: 'keys.plan' },
  { keys: 'c', does: 'key.path', group: 'keys.plan' },
  { keys: '/', does: 'key.find', group: 'keys.plan' },
  { keys: 'Esc', does: 'key.back', group: 'keys.plan' },
  { keys: '1 … 6', does: 'key.tab', group: 'keys.plan' },
  { keys: 's', does: 'key.skip', group: 'keys.steer' },
  { keys: 'r', does: 'key.retry', group: 'keys.steer' },
  { keys: 'p', does: 'key.pause', group: 'keys.steer' },
  { keys: 'x', does: 'key.cancel', group: 'keys.steer' },
  { keys: 'b', does: 'key.undoStep', group: 'keys.steer' },
  { keys: 'u', does: 'key.undo', group: 'keys.steer' },
  { keys: 'f', does: 'key.fork', group: 'keys.steer' },
  { keys: 'm', does: 'key.edit', group: 'keys.steer' },
  { keys: 'o', does: 'key.report', group: 'keys.steer' },
  { keys: 'q', does: 'key.question', group: 'keys.questions' },
  { keys: 'a', does: 'key.allow', group: 'keys.questions' },
  { keys: 'w', does: 'key.allowRun', group: 'keys.questions' },
  { keys: 'e', does: 'key.editAnswer', group: 'keys.questions' },
  { keys: 'd', does: 'key.deny', group: 'keys.questions' },
];

/** Whether a key press belongs to a text field, a menu or a dialog, and not to the page. */
export function isTyping(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.closest('dialog') !== null;
}
