// Runs every browser test: each file of this folder but the helpers named here, one after the other, as a program of its own.
// `--only FILE,...` runs some of them, `--but FILE,...` all but those. Other words are handed on: they select tests by name.
// A test file prints a line `ok   NAME` or `FAIL NAME` for each test and ends with 0 if none has failed (see support.mjs).
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HELPERS = ['run.mjs', 'support.mjs', 'shots.mjs'];
const here = dirname(fileURLToPath(import.meta.url));
const words = process.argv.slice(2);
const [choice, chosen] = /^--(only|but)$/.test(words[0] ?? '') ? words.splice(0, 2) : [];
const files = readdirSync(here)
  .filter((name) => name.endsWith('.mjs') && !HELPERS.includes(name) && (!choice || chosen.split(',').includes(name) === (choice === '--only')))
  .sort();
const total = { passed: 0, failed: 0 };
for (const name of files) {
  const { code, out } = await run(join(here, name));
  const passed = (out.match(/^ok {2,}/gm) ?? []).length;
  const failed = (out.match(/^FAIL\b/gm) ?? []).length;
  total.passed += passed;
  // A file that ended badly without naming a test has failed as a whole, and so has one that tested nothing.
  total.failed += failed || (code !== 0 || passed === 0 ? 1 : 0);
  if (code !== 0) console.log(`${name} ended with ${code}`);
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);

function run(path) {
  const child = spawn(process.execPath, [path, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (data) => {
    out += data;
    process.stdout.write(data);
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out })));
}
