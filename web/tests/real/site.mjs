// A real `surefoot serve` over a home of its own. It can be killed and started again on the same port.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PYTHON = process.env.SUREFOOT_PYTHON ?? join(ROOT, '.venv/bin/python');

/** The settings of the runs: no sandbox, because not every machine that runs the tests has one. */
const SETTINGS = { SUREFOOT_EXECUTION__SANDBOX: 'off', SUREFOOT_EXECUTION__BASELINE: 'off' };

/** `folder` holds the home and the projects, and is removed at the end. */
export async function startSite(env = {}, folder = mkdtempSync(join(tmpdir(), 'surefoot-browser-'))) {
  if (!existsSync(PYTHON)) throw new Error(`no Python with Surefoot at ${PYTHON}: run \`make .venv/dev.ready\`, or set SUREFOOT_PYTHON`);
  const home = join(folder, 'home');
  const cwd = join(folder, 'work');
  for (const path of [home, cwd]) mkdirSync(path, { recursive: true });
  const variables = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', SUREFOOT_HOME: home, ...SETTINGS, ...env };
  let server = null;
  process.on('exit', () => server?.kill('SIGKILL'));
  const site = {
    folder, home, cwd, base: '', token: '', viewToken: '',

    async start(port = 0) {
      server = spawn(PYTHON, ['-P', '-m', 'surefoot', 'serve', '--no-open', '--view-token', '--port', String(port)], { cwd, env: variables, stdio: ['ignore', 'pipe', 'pipe'] });
      const lines = await firstLines(server, 2);
      const [control, view] = lines.map((line) => new URL(/https?:\S+/.exec(line)[0]));
      Object.assign(site, { base: control.origin, port: control.port, token: control.hash.slice(3), viewToken: view.hash.slice(3) });
      server.stdout.resume();
      server.stderr.resume();
    },

    /** End the server without a chance to say goodbye. Runs are processes of their own and go on. */
    async kill() {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const gone = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGKILL');
      await gone;
    },

    /** A folder with files, for the runs of one story. */
    project(name, files) {
      const path = join(folder, name);
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(path, file)), { recursive: true });
        writeFileSync(join(path, file), text);
      }
      return path;
    },

    /** Run `surefoot WORDS` in a terminal's stead. */
    cli(words, options = {}) {
      return spawnSync(PYTHON, ['-P', '-m', 'surefoot', ...words], { cwd, env: variables, encoding: 'utf8', ...options });
    },

    /** Start a run with a given plan, as from a terminal where nobody sits. */
    given(name, { task, checks, files, plan }, more = []) {
      const path = site.project(name, files);
      const file = join(folder, `${name}.json`);
      writeFileSync(file, plan);
      const words = ['run', '--given', file, '-C', path, '--json', ...checks.map((check) => `--check=${check}`), ...more, '--', task];
      return spawn(PYTHON, ['-P', '-m', 'surefoot', ...words], { cwd, env: variables, stdio: ['ignore', 'ignore', 'inherit'], detached: true });
    },

    async api(path, init = {}) {
      const response = await fetch(`${site.base}${path}`, { ...init, headers: { authorization: `Bearer ${site.token}`, 'content-type': 'application/json', ...init.headers } });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return response.json();
    },

    /** Start a run over HTTP. Returns its id. */
    async run(body) {
      return (await site.api('/api/runs', { method: 'POST', body: JSON.stringify(body) })).run;
    },

    async row(run) {
      return (await site.api(`/api/runs/${run}`)).rows.find((row) => row.kind === 'run');
    },

    /** Wait until the row of a run is as a function wants it. */
    async until(run, met) {
      for (;;) {
        const row = await site.row(run);
        if (met(row)) return row;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },

    async close() {
      for (const { id, live } of (await site.api('/api/runs').catch(() => ({ runs: [] }))).runs) {
        if (live) site.cli(['cancel', id]);
      }
      await site.kill();
      // Processes of runs that were just cancelled may still write.
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
  await site.start();
  return site;
}

async function firstLines(child, count) {
  let out = '';
  let err = '';
  return new Promise((resolve, reject) => {
    child.stderr.on('data', (data) => (err += data));
    child.stdout.on('data', (data) => {
      out += data;
      const lines = out.split('\n');
      if (lines.length > count) resolve(lines.slice(0, count));
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${err}`)));
  });
}
