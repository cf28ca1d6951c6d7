// What the browser tests share: a browser, a list of tests with their results, and pages that report what went wrong in them.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** For things that depend on other processes. Long, because only a real hang may end a test. */
export const PATIENCE = Number(process.env.PATIENCE ?? 120_000);

/** Starts the Chromium of the system. CHROMIUM names another one. */
export async function open() {
  const path = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((item) => item && existsSync(item));
  if (!path) throw new Error('no Chromium: install it (apt-get install -y chromium), or set CHROMIUM to its path');
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-gpu', '--disable-component-update', '--disable-background-networking', '--disable-features=OptimizationHints,OnDeviceModel,Translate'] });
}

/** Runs tests one after the other. The first argument of the program selects those whose names contain it. */
export async function suite() {
  const browser = await open();
  const only = process.argv[2] ?? '';
  const failed = [];
  let passed = 0;
  let pictures = 0;

  async function test(name, body) {
    if (!name.includes(only)) return;
    const started = performance.now();
    try {
      await body();
      passed++;
      console.log('ok  ', name, `(${((performance.now() - started) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed.push(name);
      console.log('FAIL', name, '\n', error.stack ?? error);
      for (const page of browser.contexts().flatMap((context) => context.pages())) {
        const path = join(tmpdir(), `surefoot-failed-${process.pid}-${++pictures}.png`);
        await page.screenshot({ path }).then(() => console.log(' see', path), () => undefined);
      }
      for (const context of browser.contexts()) await context.close().catch(() => undefined);
    }
  }

  /** A page that is connected to a server. `page.problems` has errors of scripts and of the console, and refusals by the policy. */
  async function visit({ base, token }, hash = '#/', { width = 1280, height = 800, theme = 'light', language = 'en' } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: language === 'zh' ? 'zh-CN' : 'en-US', acceptDownloads: true, reducedMotion: 'reduce' });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    page.problems = [];
    page.on('pageerror', (error) => page.problems.push(error.message));
    page.on('console', (message) => message.type() === 'error' && page.problems.push(message.text()));
    await page.goto(`${base}/#t=${token}`);
    await page.waitForSelector('.link.live');
    if (hash !== '#/') await go(page, hash);
    return page;
  }

  async function end() {
    await browser.close();
    console.log(`${passed} passed, ${failed.length} failed`);
    // Sockets of servers that were killed may still be open.
    process.exit(failed.length > 0 ? 1 : 0);
  }

  return { browser, test, visit, end };
}

export async function go(page, hash) {
  await page.evaluate((to) => (location.hash = to), hash);
}

/** End a test with a page: nothing may have gone wrong in it. `expected` matches messages that belong to the test. */
export async function done(page, expected = null) {
  assert.deepEqual(page.problems.filter((text) => !expected?.test(text)), []);
  await page.context().close();
}

/** What axe-core finds on the page as it is now. */
export async function violations(page) {
  // Run from the test's own world: the page's policy would refuse a script tag.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.map((item) => `${item.id}: ${item.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(' | ')}: ${item.nodes[0].failureSummary}`);
}
