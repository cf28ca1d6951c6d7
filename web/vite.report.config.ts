import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { oneFile } from './plugins.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const out = here('.report-build');
const target = process.env['SUREFOOT_REPORT_OUT'] ?? here('../src/surefoot/server/static/report.html');

export default defineConfig({
  plugins: [svelte(), oneFile(out, 'report.html', target)],
  // The graph is laid out without a worker: a file opened from disk cannot start one.
  resolve: { alias: [{ find: /^.*\/graph\/place$/, replacement: here('src/lib/graph/place.report.ts') }] },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: ['chrome123', 'firefox128', 'safari17.5'],
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { input: here('report.html'), output: { codeSplitting: false } },
  },
});
