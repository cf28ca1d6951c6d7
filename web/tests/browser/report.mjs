// Reports in a real Chromium, opened from disk with the network off. Their runs are real: tests/report/stories.py
// carries them out with scripted models. PYTHON names another interpreter than the one of .venv, REPORTS a folder
// in which the pages are already.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { done, open, violations } from './support.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const only = process.argv[2] ?? '';
const scratch = process.env.REPORTS ?? mkdtempSync(join(tmpdir(), 'surefoot-reports-'));
if (!process.env.REPORTS) {
  const python = process.env.PYTHON ?? join(root, '.venv/bin/python');
  if (!existsSync(python)) throw new Error(`no Python at ${python}: make .venv/dev.ready, or set PYTHON`);
  execFileSync(python, [join(root, 'tests/report/stories.py'), scratch], { cwd: root, stdio: 'inherit' });
}
const browser = await open();
const results = { passed: 0, failed: [] };

async function test(name, body) {
  if (!name.includes(only)) return;
  try {
    await body();
    results.passed++;
    console.log('ok  ', name);
  } catch (error) {
    results.failed.push(name);
    console.log('FAIL', name, '\n', error.stack ?? error);
  }
}

/** A report, with everything that went wrong and everything that was asked for elsewhere. */
async function visit(name, { width = 1280, height = 900, theme = 'light', language = 'en', hash = '', script = true } = {}) {
  const context = await browser.newContext({ offline: true, javaScriptEnabled: script, viewport: { width, height }, colorScheme: theme, locale: language === 'zh' ? 'zh-CN' : 'en-US', acceptDownloads: true, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.problems.push(message.text()));
  page.on('dialog', (dialog) => page.problems.push(`a dialog: ${dialog.message()}`) && dialog.dismiss());
  page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || page.problems.push(`a request: ${request.url()}`));
  await page.goto(`file://${join(scratch, `${name}.html`)}${hash}`);
  if (script) await page.waitForSelector('.outcome');
  return page;
}
const sections = (page) => page.locator('section.part h2 > button');
async function openAll(page) {
  for (let i = 0; i < (await sections(page).count()); i++) {
    const button = sections(page).nth(i);
    if ((await button.getAttribute('aria-expanded')) === 'false') await button.click();
  }
}

await test('a report opens from disk without a network', async () => {
  const page = await visit('healed');
  await page.locator('.verdict', { hasText: /^verified/i }).waitFor();
  await page.waitForSelector('button.node');
  assert.equal(await page.locator('button.node').count(), 5);
  assert.match(await page.title(), /^Make slug\(\) collapse separators/);
  await page.getByText('a check of the user or the project failed before and passes now').waitFor();
  await page.getByText('1 failed attempt took').waitFor();
  assert.equal(await page.getByRole('button', { name: /^(Retry|Skip|Pause|Undo)/ }).count(), 0);
  await done(page);
});

await test('every section opens and closes', async () => {
  const page = await visit('healed');
  const count = await sections(page).count();
  assert.ok(count >= 8, `${count} sections`);
  await openAll(page);
  assert.equal(await page.locator('section.part > .content').count(), count);
  for (const text of ['Hello, World must become', 'act', 'scripted', 'Sandbox of commands', '65,536']) await page.getByText(text).first().waitFor();
  await page.locator('#talk li button').nth(1).click();
  await page.getByText('"use write_file"').first().waitFor();
  await page.locator('#changes-title').click();
  assert.equal(await page.locator('#changes > .content').count(), 0);
  await page.locator('nav').getByRole('button', { name: /^Changes/ }).click();
  await page.getByText("text.lower()).strip('-')").first().waitFor();
  await done(page);
});

await test('a step shows its attempts, proof, changes and output', async () => {
  for (const width of [1280, 390]) {
    const page = await visit('healed', { width, height: 844 });
    await page.locator('#recoveries button.link').click();
    const dialog = page.locator('dialog[open]');
    for (const text of ['Attempt 1', 'Attempt 2', 'AssertionError: hello--world', 'adjust']) await dialog.getByText(text).first().waitFor();
    await dialog.getByRole('tab', { name: /^Proof/ }).click();
    await dialog.getByText('Proven: a check failed before and passes now').waitFor();
    await dialog.getByRole('tab', { name: /^Changes/ }).click();
    await dialog.getByText('import re').waitFor();
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await done(page);
  }
});

await test('the output of a check is shown', async () => {
  const page = await visit('hostile');
  await page.locator('#proof').getByRole('button', { name: /^Output/ }).click();
  await page.locator('#proof pre.log').getByText('alert(1)').waitFor();
  await done(page);
});

await test('text of models and tools stays text, and hidden characters are seen', async () => {
  const page = await visit('hostile');
  await openAll(page);
  for (const button of await page.locator('#talk li button').all()) await button.click();
  assert.equal(await page.locator('main :is(img, script, iframe, b b)').count(), 0);
  assert.equal(await page.locator('body > script, body script').count(), 0);
  assert.equal(await page.locator('main a').count(), 0);
  await page.getByText('Show </template></noscript><script>alert(1)</script><!--').first().waitFor();
  await page.getByText('user<U+202E>txt.exe').first().waitFor();
  await page.locator('#changes').getByText('U+202E RLO').waitFor();
  assert.ok(!(await page.evaluate(() => [...document.querySelectorAll('main h1, main .name, main .node, .rail')].some((item) => /[\u202e\u2066\u200b]/.test(item.textContent)))));
  await done(page);
});

await test('a failed, a waiting and an undone run say so', async () => {
  for (const [name, texts] of [['failed', ['Failed', 'What to do next', 'surefoot resume']], ['waiting', ['Waiting for a person', 'The run had not ended', 'pip install ./vendor/helper']], ['undone', ['Undone', 'The changes were undone on']]]) {
    const page = await visit(name);
    for (const text of texts) await page.getByText(text).first().waitFor();
    assert.equal(await page.getByRole('button', { name: /^(Allow|Deny)/ }).count(), 0);
    await done(page);
  }
});

for (const [name, width, theme, language] of [['healed', 1280, 'light', 'en'], ['healed', 1280, 'dark', 'en'], ['failed', 390, 'light', 'en'], ['waiting', 390, 'dark', 'zh'], ['hostile', 900, 'dark', 'en']]) {
  await test(`axe finds nothing in ${name} at ${width} ${theme} ${language}`, async () => {
    const page = await visit(name, { width, height: 844, theme, language });
    assert.deepEqual(await violations(page), []);
    await openAll(page);
    assert.deepEqual(await violations(page), [], 'all sections open');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the screen');
    if (name === 'healed') {
      await page.evaluate(() => (location.hash += '/step/fix'));
      await page.waitForSelector('dialog[open]');
      assert.deepEqual(await violations(page), [], 'a step');
    }
    await done(page);
  });
}

await test('it can be read without JavaScript', async () => {
  for (const [name, theme] of [['failed', 'light'], ['hostile', 'dark']]) {
    const page = await visit(name, { script: false, theme });
    await page.getByRole('heading', { level: 1 }).waitFor();
    assert.ok((await page.locator('noscript table').count()) >= 3);
    const box = await page.locator('h1').boundingBox();
    assert.ok(box && box.width > 100 && box.height > 10);
    const height = await page.evaluate(() => document.scrollingElement.scrollHeight);
    await page.mouse.wheel(0, height);
    // Asked again and again from here: a page without JavaScript has no timers.
    const scrolled = () => page.evaluate(() => scrollY > 0 || document.scrollingElement.scrollHeight <= innerHeight);
    for (let i = 0; i < 100 && !(await scrolled()); i++) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(await scrolled());
    assert.equal(await page.locator('noscript img, noscript script').count(), 0);
    const cells = await page.locator('noscript td').all();
    assert.ok(await cells.at(-1).isVisible());
    const said = (await page.locator('noscript').textContent()).replace(/\s+/g, ' ');
    if (name === 'failed') for (const text of ['What failed', 'AssertionError: hello,-world', 'python3 test_slug.py', '3. Collapse separators in slug()', 'red → not run']) assert.ok(said.includes(text), text);
    await done(page);
  }
});

await test('it prints every part, on white paper', async () => {
  const page = await visit('healed', { theme: 'dark' });
  await page.evaluate(() => (document.documentElement.dataset.theme = 'dark'));
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 10_000);
  assert.ok((pdf.toString('latin1').match(/\/Type\s*\/Page\b/g) ?? []).length >= 2, 'more than one page');
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  for (const id of ['proof', 'plan', 'recoveries', 'changes', 'usage', 'environment', 'left']) assert.ok(await page.locator(`#${id} > .content`).isVisible(), id);
  await page.locator('#plan').getByText('Attempt 1').waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  const cut = await page.evaluate(() => [...document.querySelectorAll('main, .doc, section.part')].filter((item) => item.scrollHeight > item.clientHeight + 2).length);
  assert.equal(cut, 0, 'nothing is cut off');
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
  await page.emulateMedia({ media: 'screen' });
  assert.equal(await page.locator('#environment > .content').count(), 0);
  await done(page);
});

await browser.close();
if (!process.env.REPORTS) rmSync(scratch, { recursive: true });
console.log(JSON.stringify(results));
process.exit(results.failed.length > 0 ? 1 : 0);
