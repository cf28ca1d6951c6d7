import { mount } from 'svelte';
import './app.css';
import './report.css';
import { ReportSource, unpack } from './lib/embedded';
import { words } from './lib/i18n/index.svelte';
import { router } from './lib/route.svelte';
import { themes } from './lib/theme.svelte';
import ReportApp from './ui/ReportApp.svelte';

const holder = document.getElementById('data');
const text = holder instanceof HTMLTemplateElement ? (holder.content.textContent ?? '') : '';
themes.start();
words.start(null);
unpack(text).then(
  (data) => {
    holder?.remove();
    document.body.classList.add('running');
    if (!location.hash.startsWith('#/run/')) history.replaceState(null, '', `#/run/${encodeURIComponent(data.run)}`);
    router.start();
    mount(ReportApp, { target: document.body, props: { source: new ReportSource(data) } });
  },
  (error: unknown) => {
    document.body.textContent = `The data of this report cannot be read: ${String(error)}`;
  },
);
