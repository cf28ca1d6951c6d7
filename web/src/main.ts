import { mount } from 'svelte';
import './app.css';
import { words } from './lib/i18n/index.svelte';
import { LiveSource } from './lib/live.svelte';
import { router } from './lib/route.svelte';
import { themes } from './lib/theme.svelte';
import { takeToken } from './lib/token';
import App from './ui/App.svelte';

const token = takeToken();
themes.start();
words.start(null);
router.start();
// A link with another token, opened in the same tab, starts over with it.
window.addEventListener('hashchange', () => {
  if (/[#&?]t=/.test(location.hash)) {
    takeToken();
    location.reload();
  }
});
// The token is kept for each tab. A tab that the page opens has it; one that the browser opens by itself has not.
for (const name of ['click', 'auxclick'] as const) {
  window.addEventListener(name, (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#/"]') : null;
    if (!link || !(event.button === 1 || (event.button === 0 && (event.ctrlKey || event.metaKey || event.shiftKey)))) return;
    event.preventDefault();
    window.open(link.href);
  });
}
mount(App, { target: document.body, props: { source: new LiveSource('', token) } });
