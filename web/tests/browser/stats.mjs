// The page of statistics in a real Chromium, with figures of generated runs. `node tests/browser/stats.mjs [NAME]`
// SHOTS=FOLDER keeps screenshots. Exits with 1 if a test fails.
import assert from 'node:assert/strict';
import { fixture, startMock } from '../mock.mjs';
import { done, open, violations } from './support.mjs';

const only = process.argv[2] ?? '';
const mock = await startMock();
mock.load('healed');
const browser = await open();
const results = { passed: 0, failed: [] };
const STATS = fixture('stats');
const EMPTY = { ...STATS, runs: 0, unreadable: [], days: [], models: [], checks: [], rungs: [], failed_by: [], results: Object.fromEntries(Object.keys(STATS.results).map((name) => [name, 0])) };

async function test(name, body) {
  if (!name.includes(only)) return;
  mock.control.stats = STATS;
  mock.control.asked = [];
  try {
    await body();
    results.passed++;
    console.log('ok  ', name);
  } catch (error) {
    results.failed.push(name);
    console.log('FAIL', name, '\n', error.stack ?? error);
  }
}

async function visit({ width = 1280, height = 900, theme = 'light', language = 'en', hash = '#/stats' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: language === 'zh' ? 'zh-CN' : 'en-US', reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.problems = [];
  page.files = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('console', (message) => /violates the following|Refused to|TrustedScript/i.test(message.text()) && page.problems.push(message.text()));
  page.on('request', (request) => page.files.push(request.url()));
  await page.goto(`${mock.base}/#t=${mock.token}`);
  await page.waitForSelector('.link.live', { timeout: 30_000 });
  if (hash) await page.evaluate((to) => (location.hash = to), hash);
  return page;
}

for (const width of [1280, 390]) {
  for (const theme of ['light', 'dark']) {
    for (const language of ['en', 'zh']) {
      await test(`axe finds nothing and nothing sticks out at ${width} ${theme} ${language}`, async () => {
        const page = await visit({ width, theme, language });
        await page.waitForSelector('svg[role=img]');
        await page.locator('details').evaluateAll((all) => all.forEach((one) => (one.open = true)));
        assert.deepEqual(await violations(page), []);
        await page.locator('details').evaluateAll((all) => all.forEach((one) => (one.open = false)));
        const wider = await page.evaluate(() => [...document.querySelectorAll('section, .page')].filter((item) => item.scrollWidth > item.clientWidth + 1).map((item) => item.textContent.slice(0, 40)));
        assert.deepEqual(wider, []);
        if (process.env.SHOTS) {
          await page.setViewportSize({ width, height: width > 600 ? 1950 : 3400 });
          await page.waitForTimeout(200);
          await page.screenshot({ path: `${process.env.SHOTS}/stats-${width}-${theme}-${language}.png` });
        }
        await done(page);
      });
    }
  }
}

await test('it is reached from the list, and its script is loaded only then', async () => {
  const page = await visit({ hash: null });
  await page.waitForSelector('a[href^="#/run/"]');
  assert.equal(page.files.filter((url) => url.includes('StatsPage')).length, 0);
  await page.getByRole('link', { name: /^Statistics/ }).click();
  await page.getByRole('heading', { name: 'Statistics' }).waitFor();
  assert.ok(page.files.some((url) => url.includes('StatsPage')));
  await page.keyboard.press('h');
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  await page.keyboard.press('i');
  await page.getByRole('heading', { name: 'Statistics' }).waitFor();
  await done(page);
});

await test('every chart has a table with the same figures', async () => {
  const page = await visit();
  await page.waitForSelector('svg[role=img]');
  const charts = await page.locator('svg[role=img]').count();
  assert.ok(charts >= 4);
  assert.equal(await page.locator('figure table').count(), charts);
  const days = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Results by day' }) });
  const cells = await days.locator('tbody td').allTextContents();
  assert.equal(cells.reduce((sum, cell) => sum + Number(cell.replaceAll(',', '')), 0), STATS.runs);
  const drawn = await days.locator('rect.bar').count();
  assert.equal(cells.filter((cell) => cell !== '0').length, drawn, 'as many parts are drawn as there are figures');
  for (const use of STATS.rungs) assert.ok((await page.getByText(`${use.healed} (`).count()) >= (use.rung === 'give_up' ? 0 : 1), use.rung);
  await done(page);
});

await test('the period and the folder are asked of the server', async () => {
  const page = await visit();
  await page.waitForSelector('svg[role=img]');
  await page.getByRole('button', { name: '7 days' }).click();
  await page.waitForFunction(() => document.querySelector('[aria-pressed=true].chip')?.textContent === '7 days');
  const folder = await page.locator('select option').nth(1).getAttribute('value');
  await page.locator('select').selectOption(folder);
  await page.waitForSelector('svg[role=img]');
  for (let i = 0; i < 200 && !mock.control.asked.at(-1).includes(encodeURIComponent(folder)); i++) await page.waitForTimeout(50);
  assert.deepEqual([...new URLSearchParams(mock.control.asked.at(-1))], [['since', '7d'], ['folder', folder]]);
  await done(page);
});

await test('no runs, a damaged run and an error are said', async () => {
  const page = await visit();
  await page.getByText('1 run cannot be read and is not counted').waitFor();
  await page.getByText(STATS.unreadable[0].run_id).first().waitFor();
  mock.control.stats = EMPTY;
  await page.getByRole('button', { name: '24 hours' }).click();
  await page.getByText('No runs began in this time.').waitFor();
  assert.deepEqual(await violations(page), []);
  mock.control.stats = null;
  await page.getByRole('button', { name: '7 days' }).click();
  await page.getByText('the journal is damaged').waitFor();
  await done(page);
});

await browser.close();
await mock.close();
console.log(JSON.stringify(results));
process.exit(results.failed.length > 0 ? 1 : 0);
