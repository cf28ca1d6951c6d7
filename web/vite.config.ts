import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { gzipBeside } from './plugins.ts';

const out = process.env['SUREFOOT_WEB_OUT'] ?? fileURLToPath(new URL('../src/surefoot/server/static', import.meta.url));

export default defineConfig(({ mode }) => ({
  plugins: [svelte(), gzipBeside(out)],
  build: {
    outDir: out,
    emptyOutDir: true,
    target: ['chrome123', 'firefox128', 'safari17.5'],
    // Inline data would need `data:` in the policy, for scripts too.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  test: { environment: 'happy-dom', include: ['tests/unit/**/*.test.ts'] },
}));
