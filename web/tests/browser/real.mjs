// The page against a real server, with real runs: processes, journal, tools and checks. Only the model's words are written.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModel } from '../real/model.mjs';
import { startSite } from '../real/site.mjs';
import { CONFIG, HOSTILE, IMPORT, MANY, RELEASE, SLOW, story } from '../real/stories.mjs';
import { done, go, suite, violations } from './support.mjs';

const { test, visit, browser, end } = await suite();
const model = await startModel(story);
const site = await startSite({ SUREFOOT_BUDGET__MAX_TOOL_CALLS: 'none', SUREFOOT_MODEL: model.spec });
const read = (folder, file) => readFileSync(join(site.folder, folder, file), 'utf8');
const start = (name, { task, checks, files, options = {} }) => site.run({ task, checks, folder: site.project(name, files), model: model.spec, options });
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};
const head = (page, words) => page.locator('.head .now', { hasText: words }).waitFor();
const runOf = (page) => /#\/run\/([^/]+)/.exec(page.url())[1];
/** Batches of rows that the page received, in order. */
const batches = (page) => {
  const found = [];
  page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => {
    const at = String(payload).indexOf('["run:');
    if (at > 0) found.push(JSON.parse(String(payload).slice(at)));
  }));
  return found;
};
/** Two rounds of drawing, so that axe sees what a person sees. */
const settled = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 80)))));
const ids = {};

await test('an empty list says how to begin, and no token shows what to do', async () => {
  const page = await visit(site);
  await page.getByText('No runs yet').waitFor();
  assert.deepEqual(await violations(page), []);
  await done(page);
  const bare = await (await browser.newContext()).newPage();
  await bare.goto(`${site.base}/`);
  await bare.getByText('This page needs a token').waitFor();
  assert.equal(await bare.evaluate(() => document.cookie), '');
  await bare.context().close();
});

await test('by keys: a run is started, watched while it heals a failure, and looked into', async () => {
  const page = await visit(site);
  const folder = site.project('import', IMPORT.files);
  await press(page, 'n');
  await page.getByLabel('Task').waitFor();
  for (const text of [IMPORT.task, IMPORT.checks[0], folder, model.spec]) {
    await page.keyboard.insertText(text);
    await press(page, 'Tab');
  }
  await press(page, 'Shift+Tab', 'Enter');
  await page.waitForURL(/#\/run\//);
  ids.import = runOf(page);
  await page.locator('.head .state', { hasText: 'running' }).waitFor();
  await head(page, 'verified');
  // Phases with the confidence of their gates, revisions, filters with counts.
  assert.match(await page.getByRole('list', { name: 'Phases' }).innerText(), /Understand\s+done\s+confidence\s+1\.00[\s\S]*Plan\s+done\s+r2[\s\S]*Execute\s+done\s+6\/6[\s\S]*Validate\s+done/);
  await page.getByRole('button', { name: /^r2 ?~1/ }).waitFor();
  await page.getByRole('button', { name: /^recovered 1$/ }).waitFor();
  await page.getByRole('button', { name: /^done 5$/ }).waitFor();
  // The healed step: attempts, cause, rung.
  await press(page, 'j', 'j', 'Enter');
  await page.waitForURL(/step\/s3/);
  const pane = page.locator('aside');
  await pane.getByText('Attempt 1').waitFor();
  const attempts = await pane.locator('ol').first().innerText();
  assert.match(attempts, /Attempt 1[\s\S]*failed[\s\S]*undone[\s\S]*no progress[\s\S]*Cause:[\s\S]*AssertionError: Lists differ[\s\S]*Next:\s+repair the step[\s\S]*Attempt 2[\s\S]*done/);
  assert.equal(await pane.getByText('write_file', { exact: true }).count(), 2);
  await press(page, '2');
  await pane.getByText('Proven').waitFor();
  assert.match(await pane.getByRole('listitem').innerText(), /tests\.test_rows[\s\S]*fails[\s\S]*passes/);
  await press(page, '3');
  await pane.getByText('if line.strip()').waitFor();
  await press(page, '4');
  await pane.getByRole('region', { name: 'Log' }).waitFor();
  await press(page, '5');
  await pane.locator('.plainlist li').first().waitFor();
  await press(page, '6');
  const message = pane.getByRole('button', { name: /^Model .*I leave empty lines out too/ });
  await message.focus();
  await press(page, 'Enter');
  await pane.locator('li > button[aria-expanded=true]').waitFor();
  await pane.getByText('Header and empty lines are left out.').first().waitFor();
  await press(page, 'Escape');
  await pane.getByRole('tab', { name: 'About' }).waitFor();
  await press(page, '2');
  await pane.getByText(/^\d files/).waitFor();
  await press(page, '?');
  await page.locator('dialog').getByText('allow once (on a question)').waitFor();
  await press(page, 'Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await press(page, 'h');
  await page.locator('a[href^="#/run/"]', { hasText: 'verified' }).waitFor();
  await done(page);
});

await test('by keys: two questions of a run of a terminal, one allowed, one edited, and a command denied', async () => {
  const page = await visit(site);
  site.given('config', CONFIG, ['--approve=ask']);
  await page.locator('a', { hasText: '2 open questions' }).waitFor();
  assert.match(await page.title(), /^\(2\) /);
  await press(page, 'j', 'Enter');
  await page.waitForURL(/#\/run\//);
  ids.config = runOf(page);
  await page.getByRole('button', { name: '2 open questions' }).waitFor();
  assert.match(await page.title(), /^\(2\) Move the settings/);
  assert.match(await page.locator('[data-question]').nth(0).innerText(), /config\.toml[\s\S]*\+\s*timeout = 30/);
  assert.match(await page.locator('[data-question]').nth(1).innerText(), /NOTES\.md[\s\S]*−\s*The settings are in settings\.ini/);
  assert.deepEqual(await violations(page), []);
  await press(page, 'q', 'a');
  await page.getByRole('button', { name: '1 open question' }).waitFor();
  await press(page, 'q', 'e');
  const field = page.getByLabel('What is done instead');
  await page.waitForFunction(() => document.querySelector('[data-question] textarea')?.value.includes('not read any more'));
  await field.focus();
  await press(page, 'Control+End');
  await page.keyboard.insertText('Edited on the page.\n');
  await press(page, 'Tab', 'Tab', 'Enter');
  // The run goes on in a new process, and asks for the command.
  await page.locator('[data-question] .command', { hasText: 'rm settings.ini && test ! -e settings.ini' }).waitFor();
  await press(page, 'q', 'd');
  await page.waitForFunction(() => !document.title.startsWith('('));
  await site.until(ids.config, (row) => row.status === 'done' && row.verdict);
  await head(page, 'verified');
  assert.match(read('config', 'config.toml'), /timeout = 30/);
  assert.match(read('config', 'NOTES.md'), /Edited on the page\.\n$/);
  assert.ok(existsSync(join(site.folder, 'config', 'settings.ini')), 'what was denied was not done');
  await done(page);
});

await test('a question is allowed for the run, and a command is denied in words and edited', async () => {
  const page = await visit(site, '#/new');
  await page.getByLabel('Task').fill(RELEASE.task);
  await page.getByLabel('Checks').fill(RELEASE.checks[0]);
  await page.getByLabel('Folder', { exact: true }).fill(site.project('release', RELEASE.files));
  await page.getByLabel('Model').fill(model.spec);
  await page.getByLabel('Ask before').selectOption('ask');
  await page.getByRole('button', { name: /^Start/ }).click();
  await page.waitForURL(/#\/run\//);
  ids.release = runOf(page);
  const card = page.locator('[data-question]');
  await card.getByText('VERSION = "2.1.0"').waitFor();
  await card.getByText('edit_file(version.py)').waitFor();
  await card.getByRole('button', { name: /^Allow for the run/ }).click();
  await card.locator('.command', { hasText: 'rm -rf dist && mkdir dist' }).waitFor();
  await card.getByRole('button', { name: 'Answer in words' }).click();
  await card.getByLabel('Your answer').fill('no, keep what is in dist');
  await card.getByRole('button', { name: 'Send' }).click();
  await card.locator('.command', { hasText: 'mkdir -p dist' }).waitFor();
  await card.getByRole('button', { name: /^Edit/ }).click();
  await card.getByLabel('What is done instead').fill('mkdir -p dist && tar cf dist/app.tar app.py version.py && touch dist/edited');
  await card.getByRole('button', { name: 'Allow as edited' }).click();
  await site.until(ids.release, (row) => row.status === 'done' && row.verdict);
  await head(page, 'verified');
  assert.match(read('release', 'version.py'), /2\.1\.0/);
  assert.ok(existsSync(join(site.folder, 'release', 'dist', 'edited')));
  await page.getByRole('tab', { name: /^Answers 3/ }).click();
  await page.locator('aside').getByText('no, keep what is in dist').waitFor();
  await done(page);
});

await test('a run is paused, its plan edited, resumed, a step skipped, undone, and forked', async () => {
  ids.slow = await start('slow', SLOW);
  const page = await visit(site, `#/run/${ids.slow}`);
  const now = page.locator('.strip', { hasText: 'waiting for port 8080' });
  await now.waitFor();
  await press(page, 'p');
  await page.getByRole('button', { name: /^Resume/ }).waitFor();
  await press(page, 'm');
  const plan = page.locator('dialog textarea');
  await page.waitForFunction(() => document.querySelector('dialog textarea')?.value.includes('Write ready.txt'));
  await plan.fill((await plan.inputValue()).replace('Write ready.txt', 'Write ready.txt first'));
  await page.locator('dialog').getByRole('button', { name: 'Change the plan' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await press(page, 'p');
  await page.getByText('Write ready.txt first').first().waitFor();
  await page.getByRole('button', { name: /^r2 ?~1/ }).waitFor();
  await head(page, 'waiting for port 8080');
  await go(page, `#/run/${ids.slow}/step/s1`);
  await page.locator('aside').getByRole('heading', { name: /Wait for the service/ }).waitFor();
  await press(page, 's');
  await page.locator('aside .state', { hasText: 'skipped' }).waitFor();
  await head(page, 'verified');
  assert.equal(read('slow', 'ready.txt'), 'yes\n');
  await press(page, 'Escape');
  // The process of the run is gone a moment after its end.
  await page.getByRole('button', { name: /^Undo U$/ }).waitFor();
  await press(page, 'u');
  await page.getByRole('dialog', { name: 'Undo this run?' }).getByRole('button', { name: 'Undo' }).click();
  await page.locator('.head .state', { hasText: 'undone' }).waitFor();
  assert.ok(!existsSync(join(site.folder, 'slow', 'ready.txt')));
  await press(page, 'f');
  const dialog = page.getByRole('dialog', { name: 'Fork' });
  await dialog.getByLabel('Before step').selectOption({ label: '3. Write done.txt' });
  await dialog.getByLabel('New folder').fill(join(site.folder, 'slow-fork'));
  await dialog.getByRole('button', { name: 'Fork' }).click();
  await page.waitForURL((url) => url.hash.startsWith('#/run/') && !url.hash.includes(ids.slow));
  await head(page, 'verified');
  assert.equal(read('slow-fork', 'done.txt'), 'yes\n');
  await page.locator('aside').getByRole('link', { name: ids.slow }).waitFor();
  await done(page);
});

await test('a run is cancelled; a page that may only look has no buttons, and a revoked one is told', async () => {
  ids.cancelled = await start('cancelled', SLOW);
  const page = await visit(site, `#/run/${ids.cancelled}`);
  const looker = await visit({ base: site.base, token: site.viewToken }, `#/run/${ids.cancelled}`);
  for (const each of [page, looker]) await each.locator('.strip', { hasText: 'waiting for port 8080' }).waitFor();
  await looker.getByText('read-only').waitFor();
  assert.equal(await looker.getByRole('button', { name: /^(Pause|Cancel|Edit plan|Fork|Skip)/ }).count(), 0);
  await press(looker, 'p');
  await press(page, 'x');
  await page.getByRole('dialog', { name: 'Cancel this run?' }).getByRole('button', { name: 'Cancel' }).click();
  for (const each of [page, looker]) await head(each, 'cancelled');
  await site.api('/api/tokens/view/revoke', { method: 'POST' });
  await looker.getByText('This page needs a token').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  // The browser itself reports the refused connection.
  await done(looker, /WebSocket|401/);
  await done(page);
});

await test('after the server was killed and started again nothing is missed and nothing doubled', async () => {
  const page = await visit(site);
  const before = batches(page);
  await page.reload();
  await page.waitForSelector('.link.live');
  ids.killed = await start('killed', IMPORT);
  await go(page, `#/run/${ids.killed}/actions`);
  await page.getByText('Reproduce the failures').first().waitFor();
  await site.kill();
  await page.waitForSelector('.link.stale');
  assert.match(await page.locator('.link.stale').innerText(), /no connection for/);
  // The run is a process of its own and goes on meanwhile.
  const outcome = () => JSON.parse(site.cli(['show', ids.killed, '--json']).stdout).outcome;
  for (let i = 0; outcome() === null; i++) {
    assert.ok(i < 300, 'the run does not end');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await site.start(site.port);
  await page.waitForSelector('.link.live');
  await head(page, 'verified');
  const own = before.filter(([name, data]) => ['run:snapshot', 'run:rows'].includes(name) && data.run === ids.killed);
  assert.equal(own.filter(([name]) => name === 'run:snapshot').length, 1, 'it goes on from where it was');
  let at = null;
  for (const [name, data] of own) {
    if (name === 'run:rows') assert.equal(data.after, at, 'no gap and no overlap');
    at = name === 'run:rows' ? data.upto : data.seq;
  }
  const rows = (await site.api(`/api/runs/${ids.killed}`)).rows;
  const actions = rows.filter((row) => row.kind === 'action');
  assert.equal(at, rows.find((row) => row.kind === 'run').seq);
  assert.equal(await page.locator('aside [role=tabpanel] li').count(), actions.length);
  assert.equal(await page.locator('[role=treegrid] .row.step').count(), 6);
  const fresh = await visit(site, `#/run/${ids.killed}/actions`);
  await head(fresh, 'verified');
  for (const each of [page, fresh]) await each.locator('button.node').nth(5).waitFor();
  const text = (each) => each.locator('main').innerText();
  assert.equal(await text(page), await text(fresh));
  await done(fresh);
  // The browser reports requests that a server did not answer: refused, reset, or sent on a socket that was just closed.
  await done(page, /WebSocket|Failed to load resource: net::ERR_/);
});

await test('hostile text is text, and a failed run leads with its diagnosis', async () => {
  ids.hostile = await start('hostile', HOSTILE);
  const page = await visit(site, `#/run/${ids.hostile}`);
  page.on('dialog', (dialog) => page.problems.push(`a script ran: ${dialog.message()}`));
  await head(page, 'stopped: no progress');
  assert.match(await page.locator('h1').innerText(), /^<img src=x onerror=alert\(1\)> Make test_answer\.py pass U\+202E RLO/);
  const pane = page.locator('aside');
  assert.match(await pane.locator('.diagnosis').innerText(), /failed: [\s\S]*Root cause:[\s\S]*AssertionError: 54 != 42[\s\S]*Tried, in order[\s\S]*What to do next/);
  await page.getByText('Look for <b>the answer</b>').first().waitFor();
  const first = (await site.api(`/api/runs/${ids.hostile}`)).rows.find((row) => row.kind === 'step').id;
  for (const tab of ['now', 'proof', 'diff', 'log', 'artifacts', 'talk']) {
    await go(page, `#/run/${ids.hostile}/step/${first}/${tab}`);
    await page.locator('[role=tabpanel] :is(li, table, pre, p)').first().waitFor();
  }
  await pane.getByText('<img src=y onerror=alert(4)>').first().waitFor();
  for (const tab of ['diff', 'actions', 'revisions', 'talk']) {
    await go(page, `#/run/${ids.hostile}/${tab}`);
    await page.locator('[role=tabpanel] :is(li, table, section, p)').first().waitFor();
  }
  assert.equal(await page.locator('main :is(img, script, b > b, svg[onload])').count(), 0);
  await go(page, '#/');
  await page.locator('a', { hasText: '<img src=x onerror=alert(1)>' }).waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  await done(page);
});

await test('a run of 500 steps at hundreds of events a second is drawn a bounded number of times', async () => {
  const page = await visit(site, '#/', { height: 900 });
  const received = batches(page);
  await page.reload();
  await page.waitForSelector('.link.live');
  const process = site.given('many', MANY);
  await page.locator('a', { hasText: MANY.task }).click();
  ids.many = runOf(page);
  // Drawing is counted, and so is the processor time of the page's thread: another process cannot change either.
  const drawn = await page.evaluateHandle(() => {
    const counted = { times: 0 };
    new MutationObserver(() => counted.times++).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    return counted;
  });
  const tools = await page.context().newCDPSession(page);
  await tools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => (await tools.send('Performance.getMetrics')).metrics.find((metric) => metric.name === 'TaskDuration').value;
  const before = await spent();
  await new Promise((resolve) => process.once('exit', resolve));
  await head(page, 'unverified');
  const seconds = (await spent()) - before;
  const row = await site.row(ids.many);
  assert.equal(row.steps.done, 500);
  const own = received.filter(([name, data]) => name !== 'runs:rows' && data.run === ids.many).length;
  const times = await drawn.evaluate((counted) => counted.times);
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  console.log(`     ${row.seq} events in ${row.active_seconds.toFixed(1)} s came in ${own} batches; ${times} changes of the document, ${nodes} nodes, ${(seconds / row.seq * 1000).toFixed(2)} ms of the page's thread for each event`);
  assert.ok(nodes <= 1_500, `${nodes} nodes`);
  // Each batch is drawn once or twice (rows, then what follows from them); a clock ticks once a second.
  assert.ok(times <= own * 4 + row.active_seconds * 4 + 40, `${times} drawings for ${own} batches`);
  assert.ok(seconds / row.seq < 0.005, `${seconds / row.seq} s for each event`);
  await page.locator('[role=treegrid]').focus();
  await press(page, 'End');
  await press(page, 'Enter');
  await done(page);
});

await test('real runs fit every width, theme and language, and axe finds nothing', async () => {
  const views = [['#/', 'a[href^="#/run/"]'], [`#/run/${ids.import}/step/s3`, '[role=tabpanel] ol'], [`#/run/${ids.hostile}`, 'h1']];
  for (const [number, [width, theme, language]] of [[1280, 'light', 'zh'], [768, 'dark', 'en'], [390, 'light', 'en'], [1280, 'dark', 'en'], [390, 'dark', 'zh'], [768, 'light', 'zh']].entries()) {
    const page = await visit(site, '#/', { width, height: width < 640 ? 844 : 900, theme, language });
    assert.equal(await page.evaluate(() => document.documentElement.lang), language === 'zh' ? 'zh-Hans' : 'en');
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
    assert.equal(back[0] < 128, theme === 'dark');
    for (const [hash, selector] of views) {
      await go(page, hash);
      await page.locator(selector).first().waitFor();
      await settled(page);
      const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide[0] <= wide[1], `${hash} is ${wide[0]} wide at ${width}`);
      // Everything a finger has to hit is large enough.
      if (width < 640) {
        const small = await page.locator('nav.bottom button, .phases button').evaluateAll((items) => items.filter((item) => item.getBoundingClientRect().height < 40).map((item) => item.textContent));
        assert.deepEqual(small, []);
      }
      if (number < 3) assert.deepEqual(await violations(page), [], `${hash} ${width} ${theme} ${language}`);
    }
    await done(page);
  }
});

await site.close();
await model.close();
await end();
