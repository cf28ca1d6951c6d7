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
mount(App, { target: document.body, props: { source: new LiveSource('', token) } });
