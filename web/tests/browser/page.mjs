// The page with fixtures and a mock server: states that a real run shows only by chance, in all themes, languages and widths.
import assert from 'node:assert/strict';
import { POLICY, startMock } from '../mock.mjs';
import { done, go, suite, violations } from './support.mjs';

const { browser, test, visit: visitSite, end } = await suite();
const mock = await startMock();
const visit = (hash, { base = mock.base, ...look } = {}) => visitSite({ base, token: mock.token }, hash, look);
const ids = Object.fromEntries(['asking', 'healed', 'many'].map((name) => [name, mock.load(name)]));
const row = (id, key) => mock.runs.get(id).rows.get(key);

await test('the token leaves the address and is asked for when it is missing', async () => {
  const page = await visit();
  assert.equal(new URL(page.url()).hash, '#/');
  assert.equal(await page.evaluate(() => sessionStorage.getItem('surefoot-token')), mock.token);
  assert.equal(await page.evaluate(() => document.cookie), '');
  await done(page);
  const context = await browser.newContext();
  const bare = await context.newPage();
  await bare.goto(`${mock.base}/`);
  await bare.getByText('This page needs a token').waitFor();
  await context.close();
});

// Each width in both themes and both languages; all twelve combinations would take twice as long and find the same.
for (const [width, theme, language] of [[1280, 'light', 'en'], [1280, 'dark', 'zh'], [768, 'dark', 'en'], [768, 'light', 'zh'], [390, 'light', 'zh'], [390, 'dark', 'en']]) {
  await test(`axe finds nothing at ${width} ${theme} ${language}`, async () => {
    const page = await visit('#/', { width, theme, language });
    const at = async (hash, selector) => {
      await go(page, hash);
      await page.waitForSelector(selector);
      await page.waitForTimeout(150);
      assert.deepEqual(await violations(page), [], hash);
    };
    await page.waitForSelector('a[href^="#/run/"]');
    assert.deepEqual(await violations(page), []);
    await at('#/new', 'form');
    await at(`#/run/${ids.asking}`, '[data-question]');
    await at(`#/run/${ids.healed}/step/write`, '[role=tabpanel] ol');
    await at(`#/run/${ids.healed}/step/write/diff`, '[role=tabpanel] table');
    await at(`#/run/${ids.healed}/step/write/proof`, '[role=tabpanel] code');
    await at(`#/run/${ids.many}`, '[role=treegrid] [role=row]');
    await at('#/', 'a[href^="#/run/"]');
    // Opened by its address, so that a narrow page shows this part and not the plan.
    await at(`#/run/${ids.healed}/diff`, '[role=tabpanel] table');
    await at(`#/run/${ids.healed}/talk`, '[role=tabpanel] li');
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open]');
    assert.deepEqual(await violations(page), [], 'help');
    await done(page);
  });
}

await test('the picture is drawn by the worker, under the policy', async () => {
  const page = await visit(`#/run/${ids.healed}`);
  await page.waitForSelector('button.node');
  assert.equal(await page.locator('button.node').count(), 3);
  await done(page);
});

await test('the picture is drawn where the policy allows no worker', async () => {
  const strict = await startMock({ policy: POLICY.replace(" worker-src 'self';", '').replace(' surefoot-worker', '') });
  const page = await visit(`#/run/${strict.load('healed')}`, { base: strict.base });
  await page.waitForSelector('button.node');
  assert.equal(await page.locator('button.node').count(), 3);
  await page.context().close();
  await strict.close();
});

await test('a run is fetched and drawn once, whatever is opened in it', async () => {
  const page = await visit(`#/run/${ids.healed}`);
  await page.waitForSelector('button.node');
  const watched = mock.control.watched.length;
  const drawn = await page.locator('button.node').first().elementHandle();
  for (const tab of ['diff', 'talk', 'actions']) {
    await page.locator(`[role=tab][id$="-${tab}"]`).click();
    await page.locator('[role=tabpanel] :is(li, table, p)').first().waitFor();
  }
  await page.locator('button.node').nth(1).click();
  await page.getByRole('tab', { selected: true }).first().waitFor();
  assert.equal(mock.control.watched.length, watched);
  assert.ok(await drawn.evaluate((node) => node.isConnected), 'the same picture');
  await done(page);
});

await test('500 steps stay under 1,500 nodes, and scrolling and keys reach the last', async () => {
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    const page = await visit(`#/run/${ids.many}`, { width, height });
    await page.waitForSelector('[role=treegrid] [role=row]');
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(nodes <= 1_500, `${nodes} nodes at ${width}`);
    await page.locator('[role=treegrid]').focus();
    await page.keyboard.press('End');
    await page.getByText('Convert module 499').first().waitFor();
    await done(page);
  }
});

await test('200 rows a second for 3 seconds are all shown and cost little', async () => {
  const page = await visit(`#/run/${ids.many}`);
  await page.waitForSelector('[role=treegrid] [role=row]');
  const tools = await page.context().newCDPSession(page);
  // Processor time of the page's thread, not time on the wall: another process must not be able to break this.
  await tools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => (await tools.send('Performance.getMetrics')).metrics.find((metric) => metric.name === 'TaskDuration').value;
  const steps = [...mock.runs.get(ids.many).rows.values()].filter((item) => item.kind === 'step');
  const before = await spent();
  for (let i = 0; i < 60; i++) {
    const upserts = Array.from({ length: 10 }, (_, n) => ({ ...steps[(i * 10 + n) % 500], name: `Changed ${i}` }));
    mock.push(ids.many, [...upserts, { ...row(ids.many, 'run'), now: { step: null, action: null, text: `batch ${i}`, since: 1800000000 } }]);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await page.getByText('batch 59').first().waitFor();
  const cost = Math.round(((await spent()) - before) * 10_000 / 60) / 10;
  assert.ok(cost < 50, `${cost} ms of work for each batch`);
  mock.push(ids.many, steps);
  await done(page);
});

await test('a question is answered once, bound to its hash, and vanishes', async () => {
  const page = await visit(`#/run/${ids.asking}`);
  await page.waitForSelector('[data-question]');
  assert.match(await page.title(), /^\(1\) /);
  const before = structuredClone(row(ids.asking, 'question:3b92903b89'));
  await page.keyboard.press('q');
  await page.keyboard.press('a');
  await page.waitForSelector('[data-question]', { state: 'detached' });
  const sent = mock.control.sent.at(-1);
  assert.deepEqual([sent.command, sent.answer, sent.expectHash], ['answer', 'yes', before.hash]);
  await page.getByText(/accepted/).first().waitFor();
  await page.waitForFunction(() => !document.title.startsWith('('));
  // It is asked again, with a character that turns the text around: shown by name, and edited.
  mock.push(ids.asking, [{ ...before, hash: 'other', command: 'echo \u202egnp.exe' }]);
  await page.getByText('U+202E RLO').first().waitFor();
  await page.getByRole('button', { name: /^Edit E$/ }).click();
  await page.locator('[data-question] textarea').fill('echo safe');
  await page.getByRole('button', { name: 'Allow as edited' }).click();
  await page.waitForSelector('[data-question]', { state: 'detached' });
  assert.deepEqual([mock.control.sent.at(-1).answer, mock.control.sent.at(-1).expectHash], ['edit: echo safe', 'other']);
  mock.push(ids.asking, [before, { ...row(ids.asking, 'run'), open_questions: 1, status: 'waiting' }]);
  await done(page);
});

await test('a refused command says why', async () => {
  const page = await visit(`#/run/${ids.asking}`);
  await page.waitForSelector('[data-question]');
  mock.control.refuse = 'no process is driving the run';
  await page.getByRole('button', { name: /^Deny/ }).click();
  await page.getByText('no process is driving the run').first().waitFor();
  mock.control.refuse = null;
  await done(page, /409/);
});

await test('a step is skipped, a run is paused, the plan is edited', async () => {
  const page = await visit(`#/run/${ids.many}/step/s499`);
  const step = [...mock.runs.get(ids.many).rows.values()].findLast((item) => item.kind === 'step' && item.status === 'pending');
  await go(page, `#/run/${ids.many}/step/${step.id}`);
  await page.getByRole('button', { name: /^Skip/ }).click();
  await page.locator('aside .state', { hasText: 'skipped' }).waitFor();
  assert.deepEqual([mock.control.sent.at(-1).command, mock.control.sent.at(-1).step], ['skip', step.id]);
  await page.keyboard.press('m');
  await page.locator('dialog textarea:enabled').fill('[[step]]\nid = "x"\n');
  await page.getByRole('button', { name: 'Change the plan' }).click();
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.equal(mock.control.sent.at(-1).plan, '[[step]]\nid = "x"\n');
  await page.keyboard.press('p');
  await page.getByRole('button', { name: /^Resume/ }).waitFor();
  await done(page);
});

await test('a run is started from the page', async () => {
  const page = await visit();
  await page.waitForSelector('a[href^="#/run/"]');
  await page.keyboard.press('n');
  await page.getByLabel('Task').fill('Fix it');
  await page.getByLabel('Checks').fill('pytest -q\n\nruff check .');
  await page.getByRole('button', { name: /^Start/ }).click();
  await page.waitForURL(/#\/run\//);
  assert.deepEqual(mock.control.started.at(-1), { task: 'Fix it', checks: ['pytest -q', 'ruff check .'] });
  await done(page);
});

await test('text of tools and models is never HTML', async () => {
  const page = await visit(`#/run/${ids.healed}/step/write/log`);
  await page.getByText('<img src=x onerror=alert(1)>').waitFor();
  await go(page, `#/run/${ids.healed}/talk`);
  await page.getByText('<b>bold?</b>').first().waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  await done(page);
});

await test('after the server was away nothing is missed and nothing doubled', async () => {
  let own = await startMock();
  const id = own.load('asking');
  const page = await visit(`#/run/${id}`, { base: own.base });
  await page.waitForSelector('[data-question]');
  const port = own.port;
  await own.close();
  await page.waitForSelector('.link.stale');
  own = await startMock({ port });
  own.load('asking');
  const question = [...own.runs.get(id).rows.values()].find((item) => item.kind === 'question' && item.answer === null);
  own.push(id, [{ ...question, key: 'question:second', id: 'second', text: 'And this?' }]);
  await page.waitForSelector('.link.live', { timeout: 20_000 });
  await page.getByText('And this?').waitFor();
  assert.equal(await page.locator('[data-question]').count(), 2);
  assert.notEqual(own.control.watched.at(-1), null, 'it asks from the last sequence number');
  // A batch from the future is a gap: it asks again instead of showing half of it.
  const watched = own.control.watched.length;
  own.io.to(id).emit('run:rows', { v: 1, run: id, after: 9_999, upto: 10_000, upserts: [], removed: [] });
  for (let i = 0; i < 100 && own.control.watched.length === watched; i++) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(own.control.watched.length > watched);
  await page.context().close();
  await own.close();
});

await test('what could not be loaded while the server was away is loaded when it is back', async () => {
  let own = await startMock();
  const id = own.load('healed');
  const page = await visit('#/', { base: own.base });
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  // The rows come by the connection; the scripts of the picture and of the statistics are fetched when they are first needed.
  const scripts = /(layout\.worker|dagre|StatsPage)[^/]*\.js$/;
  await page.context().route(scripts, (route) => route.abort());
  await go(page, `#/run/${id}`);
  await page.getByText('The picture could not be drawn').waitFor();
  await go(page, `#/run/${id}/diff`);
  await page.locator('[role=tabpanel] table').first().waitFor();
  const port = own.port;
  await own.close();
  await page.waitForSelector('.link.stale');
  await go(page, `#/run/${id}/talk`);
  await page.getByRole('alert').getByText('This could not be loaded').waitFor();
  await page.context().unroute(scripts);
  own = await startMock({ port });
  own.load('healed');
  await page.waitForSelector('.link.live');
  await page.waitForSelector('button.node');
  assert.equal(await page.locator('button.node').count(), 3);
  await page.locator('[role=tabpanel] li').first().waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  await page.context().close();
  await own.close();
});

await test('a picture or a page that could not be loaded is loaded at the next try', async () => {
  const page = await visit('#/');
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  const scripts = /(layout\.worker|dagre|StatsPage)[^/]*\.js$/;
  await page.context().route(scripts, (route) => route.abort());
  await go(page, `#/run/${ids.healed}`);
  await page.getByText('The picture could not be drawn').waitFor();
  await page.context().unroute(scripts);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.waitForSelector('button.node');
  await page.context().route(scripts, (route) => route.abort());
  await go(page, '#/stats');
  await page.getByRole('alert').getByText('This could not be loaded').waitFor();
  await page.context().unroute(scripts);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Statistics' }).waitFor();
  await page.context().close();
});

await mock.close();
await end();
