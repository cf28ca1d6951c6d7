// Light, dark, or as the system says.

import { recall, remember } from './memory';

export type Theme = 'auto' | 'light' | 'dark';
const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' };

class Themes {
  theme = $state.raw<Theme>('auto');

  start(): void {
    const kept = recall('theme');
    this.#show(kept === 'light' || kept === 'dark' ? kept : 'auto');
  }

  next(): void {
    this.#show(NEXT[this.theme]);
    remember('theme', this.theme);
  }

  #show(theme: Theme): void {
    this.theme = theme;
    if (theme === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  }
}

export const themes = new Themes();
