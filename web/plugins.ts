// Build steps: compressed copies beside the assets, and the report as one file.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const COMPRESSED = /\.(?:js|css|html|svg)$/;
const SCRIPT = /<script type="module"[^>]*\ssrc="([^"]+)"[^>]*><\/script>/;
const STYLE = /<link rel="stylesheet"[^>]*\shref="([^"]+)"[^>]*>/;

/** Write a `.gz` beside each text asset, so that the server needs to compress nothing. */
export function gzipBeside(folder: string): Plugin {
  return {
    name: 'surefoot-gzip',
    apply: 'build',
    closeBundle(): void {
      for (const path of filesBelow(folder)) {
        if (COMPRESSED.test(path)) writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

/** Put the built page into one file with a policy that allows exactly its script and its style. */
export function oneFile(folder: string, page: string, target: string): Plugin {
  return {
    name: 'surefoot-one-file',
    apply: 'build',
    closeBundle(): void {
      let html = readFileSync(join(folder, page), 'utf8');
      const script = asset(folder, html, SCRIPT).replaceAll('</script', '<\\/script');
      const style = asset(folder, html, STYLE);
      html = html.replace(STYLE, () => `<style>${style}</style>`);
      html = html.replace(SCRIPT, () => `<script type="module">${script}</script>`);
      const policy = [
        "default-src 'none'",
        `script-src '${hash(script)}'`,
        `style-src '${hash(style)}'`,
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types svelte-trusted-html',
      ].join('; ');
      html = html.replace('<head>', () => `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, html);
      rmSync(folder, { recursive: true });
    },
  };
}

function asset(folder: string, html: string, reference: RegExp): string {
  const path = reference.exec(html)?.[1];
  if (path === undefined) throw new Error(`the built page has no ${reference.source}`);
  return readFileSync(join(folder, path), 'utf8').trim();
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}
