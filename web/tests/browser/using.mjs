// The page in the hands of a person: what is typed, chosen, focused and scrolled to stays while rows arrive and pages change,
// nothing is asked or sent twice, and an error is shown as long as it is one and no longer.
import assert from 'node:assert/strict';
import { startMock } from '../mock.mjs';
import { done, go, suite } from './support.mjs';

const { test, visit, end } = await suite();
const NARROW = { width: 390, height: 844 };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A server with one run, closed after the test. */
async function using(name, body) {
  const mock = await startMock();
  try {
    const id = mock.load(name);
    await body({ mock, id, row: (key) => mock.runs.get(id).rows.get(key), open: (rest = '', look = {}) => visit(mock, `#/run/${id}${rest}`, look) });
  } finally {
    await mock.close();
  }
}
const asked = (mock, part) => mock.control.requests.filter((path) => path.includes(part)).length;
const question = (mock, id, fields = {}) => {
  const found = [...mock.runs.get(id).rows.values()].find((item) => item.kind === 'question' && item.answer === null);
  return { ...found, ...fields };
};
const focused = (page) => page.evaluate(() => document.activeElement?.tagName ?? '');

await test('a narrow page shows the part that its address names, and the one beneath a step when that is closed', () => using('healed', async ({ id, open }) => {
  const page = await open('', NARROW);
  const part = page.locator('nav.bottom [aria-current=true]');
  await page.getByRole('treegrid').waitFor();
  await go(page, `#/run/${id}/diff`);
  await page.locator('[role=tabpanel] table').waitFor();
  assert.equal(await part.textContent(), 'Changes');
  await go(page, `#/run/${id}`);
  await page.getByRole('treegrid').waitFor();
  await part.getByText('Plan').waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('tab', { name: /^Actions/ }).click();
  await page.locator('[role=tabpanel] li').first().waitFor();
  await go(page, `#/run/${id}/step/write/proof`);
  await page.locator('dialog [role=tabpanel] code').first().waitFor();
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'Actions4');
  // The chosen tab is in sight, also when there are more than fit.
  await go(page, `#/run/${id}/step/write/talk`);
  await page.waitForFunction(() => document.querySelector('dialog [role=tab][aria-selected=true]')?.getBoundingClientRect().right <= 390, null, { timeout: 5_000 });
  await page.keyboard.press('Escape');
  // Back closes a step as well.
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await page.getByRole('row', { name: /Write/ }).first().click();
  await page.waitForSelector('dialog[open]');
  await page.goBack();
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.getByRole('treegrid').waitFor();
  await done(page);
}));

await test('a narrow page keeps what was searched in the plan while another part is shown', () => using('many', async ({ open }) => {
  const page = await open('', NARROW);
  await page.getByRole('searchbox').fill('module 4');
  await page.getByRole('treegrid').evaluate((grid) => (grid.scrollTop = 1000));
  await page.getByRole('button', { name: 'Now', exact: true }).click();
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  assert.equal(await page.getByRole('searchbox').inputValue(), 'module 4');
  assert.equal(await page.getByRole('treegrid').evaluate((grid) => grid.scrollTop), 1000);
  await done(page);
}));

await test('closing a step leads back to the part of the run that was shown, and to the step in the plan', () => using('healed', async ({ open }) => {
  const page = await open('/diff');
  await page.locator('[role=tabpanel] table').waitFor();
  await page.locator('button.node').nth(1).click();
  await page.locator('aside h2', { hasText: '2.' }).waitFor();
  await page.locator('aside').getByRole('button', { name: 'Close' }).click();
  await page.locator('[role=tabpanel] table').waitFor();
  assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'Changes');
  assert.notEqual(await focused(page), 'BODY');
  await done(page);
}));

await test('Back does not open a step again that was closed', () => using('healed', async ({ id, open }) => {
  for (const look of [{}, NARROW]) {
    const page = await open('', look);
    await page.getByRole('row', { name: /Write/ }).first().click();
    await page.waitForFunction(() => location.hash.includes('/step/'));
    await page.getByRole('tab', { name: 'Proof' }).click();
    await page.keyboard.press('Escape');
    await page.waitForFunction((run) => location.hash === `#/run/${run}`, id);
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes('/run/'));
    await page.goForward();
    await page.waitForFunction((run) => location.hash === `#/run/${run}`, id);
    await done(page);
  }
}));

await test('a step that is opened right after another was closed stays open', () => using('healed', async ({ open }) => {
  const page = await open();
  await page.locator('button.node').nth(0).click();
  await page.locator('aside h2', { hasText: '1.' }).waitFor();
  await page.evaluate(() => {
    document.querySelector('aside button[aria-label=Close]').click();
    document.querySelectorAll('button.node')[1].click();
  });
  await page.locator('aside h2', { hasText: '2.' }).waitFor();
  await sleep(300);
  assert.match(await page.evaluate(() => location.hash), /\/step\//);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !location.hash.includes('/step/'));
  await done(page);
}));

await test('a step that the plan does not have is named', () => using('healed', async ({ id, open }) => {
  const page = await open('/step/missing');
  await page.getByText('The plan has no step “missing”.').waitFor();
  await go(page, `#/run/${id}/step/write`);
  await page.locator('aside h2', { hasText: 'Write' }).waitFor();
  assert.equal(await page.getByText('The plan has no step').count(), 0);
  await done(page);
}));

await test('an edited plan is not lost by one Escape', () => using('many', async ({ mock, open }) => {
  const page = await open();
  await page.waitForSelector('[role=treegrid] [role=row]');
  const text = page.locator('dialog textarea:enabled');
  const gone = () => page.waitForSelector('dialog', { state: 'detached' });
  await page.keyboard.press('m');
  await text.waitFor();
  await page.keyboard.press('Escape');
  await gone();
  await page.keyboard.press('m');
  await text.fill('[[step]]\nid = "mine"\n');
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByText('has not been sent').waitFor();
  assert.match(await text.inputValue(), /mine/);
  await text.fill('[[step]]\nid = "mine too"\n');
  await page.waitForFunction(() => !document.querySelector('dialog [role=alert]'));
  await page.locator('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('alert').getByText('has not been sent').waitFor();
  await page.keyboard.press('Escape');
  await gone();
  assert.equal(mock.control.sent.length, 0);
  await done(page);
}));

await test('what is fetched for a tab comes also while the run changes all the time, and not with each change', () => using('many', async ({ mock, id, row, open }) => {
  const page = await open();
  await page.waitForSelector('[role=treegrid] [role=row]');
  // The answer takes longer than the time between two changes.
  await page.route('**/diff', async (route) => {
    await sleep(300);
    await route.continue().catch(() => undefined);
  });
  let count = 0;
  const timer = setInterval(() => mock.push(id, [{ ...row('run'), steps: { ...row('run').steps, done: ++count } }]), 100);
  try {
    await page.getByRole('tab', { name: 'Changes' }).click();
    await page.locator('[role=tabpanel] table').waitFor({ timeout: 5_000 });
    const before = asked(mock, '/diff');
    await sleep(3_000);
    const more = asked(mock, '/diff') - before;
    assert.ok(more >= 1 && more <= 6, `asked ${more} times in 3 seconds`);
  } finally {
    clearInterval(timer);
  }
  await done(page);
}));

await test('the details of a step are fetched once for all its tabs', () => using('healed', async ({ mock, open }) => {
  const page = await open('/step/write');
  for (const name of ['Proof', 'Log', 'Artifacts', 'Proof']) {
    await page.getByRole('tab', { name }).click();
    await page.locator('[role=tabpanel] :is(code, pre, li)').first().waitFor();
  }
  assert.equal(asked(mock, '/steps/'), 1);
  await done(page);
}));

await test('a newer state that cannot be loaded is said beside the old one, and taken back', () => using('healed', async ({ mock, id, row, open }) => {
  const page = await open('/diff');
  await page.locator('[role=tabpanel] table').waitFor();
  await page.route('**/diff', (route) => route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":{"code":"x","message":"the store is locked"}}' }));
  mock.push(id, [{ ...row('run'), steps: { ...row('run').steps, done: 2 } }]);
  await page.getByRole('alert').getByText('the store is locked').waitFor();
  assert.equal(await page.locator('[role=tabpanel] table').count(), 1);
  await page.unroute('**/diff');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await done(page, /500/);
}));

await test('the error of one step is not shown for another', () => using('healed', async ({ id, open }) => {
  const page = await open('/step/write');
  await page.route('**/steps/write', (route) => route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":{"code":"x","message":"the store is locked"}}' }));
  await page.route('**/steps/note', async (route) => {
    await sleep(1_000);
    await route.continue();
  });
  await page.getByRole('tab', { name: 'Log' }).click();
  await page.getByText('the store is locked').waitFor();
  await go(page, `#/run/${id}/step/note/log`);
  await page.locator('[role=tabpanel] .loading').waitFor();
  assert.equal(await page.getByText('the store is locked').count(), 0);
  await page.locator('[role=tabpanel] pre').waitFor();
  await done(page, /500/);
}));

await test('a run that was not there is shown when it is', () => using('asking', async ({ mock, id }) => {
  const kept = mock.runs.get(id);
  mock.runs.delete(id);
  const page = await visit(mock, `#/run/${id}`);
  await page.getByRole('alert').getByText(`no run ${id}`).waitFor();
  mock.runs.set(id, kept);
  mock.push(id, []);
  await page.waitForSelector('[data-question]');
  assert.equal(await page.getByRole('alert').count(), 0);
  await done(page);
}));

await test('words that are being typed stay when the question changes, is folded, or another page is shown', () => using('asking', async ({ mock, id, open }) => {
  const page = await open();
  await page.getByRole('button', { name: 'Answer in words' }).click();
  const field = page.locator('[data-question] textarea');
  await field.fill('no, use the wheel that we have');
  mock.push(id, [question(mock, id, { hash: 'other', command: 'python3 -m pip install helper' })]);
  await page.getByText('The question has changed').waitFor();
  assert.equal(await field.inputValue(), 'no, use the wheel that we have');
  assert.equal(await focused(page), 'TEXTAREA');
  // Who is typing may not have seen it: it is said until the answer is sent.
  await sleep(1_700);
  assert.equal(await page.getByText('The question has changed').count(), 1);
  await page.getByRole('button', { name: '1 open question' }).click();
  await field.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: '1 open question' }).click();
  assert.equal(await field.inputValue(), 'no, use the wheel that we have');
  await go(page, '#/');
  await page.waitForSelector('a[href^="#/run/"]');
  await go(page, `#/run/${id}`);
  assert.equal(await field.inputValue(), 'no, use the wheel that we have');
  await field.press('Escape');
  await page.getByRole('button', { name: 'Answer in words' }).click();
  assert.equal(await field.inputValue(), 'no, use the wheel that we have');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForSelector('[data-question]', { state: 'detached' });
  assert.deepEqual([mock.control.sent.at(-1).answer, mock.control.sent.at(-1).expectHash], ['no, use the wheel that we have', 'other']);
  await done(page);
}));

await test('a question that is asked again can be answered at once', () => using('asking', async ({ mock, id, open }) => {
  const page = await open();
  await page.waitForSelector('[data-question]');
  const first = question(mock, id);
  await page.getByRole('button', { name: /^Allow once/ }).click();
  await page.waitForSelector('[data-question]', { state: 'detached' });
  mock.push(id, [{ ...first, hash: 'other' }]);
  await page.waitForSelector('[data-question]');
  await page.getByRole('button', { name: /^Deny/ }).click({ timeout: 3_000 });
  await page.waitForSelector('[data-question]', { state: 'detached' });
  assert.equal(mock.control.sent.at(-1).answer, 'no');
  await done(page);
}));

await test('q goes to a question also when they are folded', () => using('asking', async ({ open }) => {
  const page = await open();
  await page.getByRole('button', { name: '1 open question' }).click();
  await page.waitForSelector('[data-question]', { state: 'detached' });
  await page.keyboard.press('q');
  await page.waitForFunction(() => document.activeElement?.matches('[data-question]'));
  await done(page);
}));

await test('a double click and a key that is held send one command', () => using('many', async ({ mock, id, open }) => {
  const step = [...mock.runs.get(id).rows.values()].find((item) => item.kind === 'step' && item.status === 'pending');
  const page = await open(`/step/${step.id}`);
  await page.getByRole('button', { name: /^Retry/ }).dblclick();
  await page.getByText('accepted').first().waitFor();
  await sleep(200);
  assert.deepEqual(mock.control.sent.map((item) => item.command), ['retry']);
  await page.locator('main').evaluate(() => document.activeElement?.blur());
  for (let i = 0; i < 5; i++) await page.keyboard.down('s');
  await page.keyboard.up('s');
  await page.locator('aside .state', { hasText: 'skipped' }).waitFor();
  await sleep(200);
  assert.deepEqual(mock.control.sent.map((item) => item.command), ['retry', 'skip']);
  // What stands where the button was after the first click is not meant by the second.
  await page.getByRole('button', { name: /^Pause/ }).dblclick({ delay: 50 });
  await page.getByRole('button', { name: /^Resume/ }).waitFor();
  await sleep(200);
  assert.deepEqual(mock.control.sent.map((item) => item.command), ['retry', 'skip', 'pause']);
  await done(page);
}));

await test('the list is as it was when one comes back to it, and is not fetched again', () => using('asking', async ({ mock, id }) => {
  const template = mock.runs.get(id).rows.get('run');
  for (let i = 0; i < 60; i++) {
    const name = `run-${i}`;
    mock.runs.set(name, { id: name, seq: 1, rows: new Map([['run', { ...template, id: name, title: `Title ${i}`, status: 'done', open_questions: 0, started_at: 1_700_000_000 + i }]]) });
  }
  const page = await visit(mock, '#/');
  await page.locator('a[href="#/run/run-5"]').waitFor();
  await page.getByRole('button', { name: /^done/ }).click();
  await page.getByRole('searchbox').fill('Title');
  await page.locator('a[href="#/run/run-30"]').focus();
  await sleep(100);
  const top = await page.locator('main .page').evaluate((box) => box.scrollTop);
  assert.ok(top > 100);
  const before = asked(mock, '/api/runs?');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Title 30' }).waitFor();
  await page.goBack();
  await page.locator('a[href="#/run/run-5"]').waitFor();
  assert.equal(await page.getByRole('searchbox').inputValue(), 'Title');
  assert.equal(await page.getByRole('button', { name: /^done/ }).getAttribute('aria-pressed'), 'true');
  await page.waitForFunction((wanted) => Math.abs(document.querySelector('main .page').scrollTop - wanted) < 2, top, { timeout: 3_000 });
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('href')), '#/run/run-30');
  assert.equal(asked(mock, '/api/runs?'), before);
  await done(page);
}));

await test('a page that could not ask what it may do asks again, and does not say before that it may only look', () => using('asking', async ({ mock, open }) => {
  let failing = 2;
  mock.control.fail = (path) => path === '/api/info' && failing-- > 0;
  const page = await open();
  await page.waitForSelector('[data-question]');
  assert.equal(await page.getByText('read-only').count(), 0);
  await page.getByRole('button', { name: /^Allow once/ }).and(page.locator(':enabled')).waitFor();
  await done(page, /500/);
  assert.ok(asked(mock, '/api/info') <= 4);
}));

await test('what the server says of itself is asked once', () => using('asking', async ({ mock, open }) => {
  const page = await open();
  await page.waitForSelector('[data-question]');
  await sleep(300);
  assert.equal(asked(mock, '/api/info'), 1);
  await done(page);
}));

await test('another tab or step begins at its top', () => using('many', async ({ open, id }) => {
  const page = await open('/actions');
  const panel = page.getByRole('tabpanel');
  await panel.locator('li').first().waitFor();
  await panel.evaluate((box) => (box.scrollTop = 800));
  await page.getByRole('tab', { name: 'About' }).click();
  await page.getByRole('heading', { name: 'Facts' }).waitFor();
  assert.equal(await panel.evaluate((box) => box.scrollTop), 0);
  await page.setViewportSize({ width: 1280, height: 420 });
  await go(page, `#/run/${id}/step/s001`);
  await page.locator('aside h2', { hasText: '2.' }).waitFor();
  assert.ok(await panel.evaluate((box) => (box.scrollTop = 60)) > 0 && await panel.evaluate((box) => box.scrollTop) > 0);
  await go(page, `#/run/${id}/step/s002`);
  await page.locator('aside h2', { hasText: '3.' }).waitFor();
  assert.equal(await panel.evaluate((box) => box.scrollTop), 0);
  await done(page);
}));

await test('the rows of the plan show the step that was opened elsewhere, and keys go on from there', () => using('many', async ({ open, id }) => {
  const page = await open();
  await page.waitForSelector('[role=treegrid] [role=row]');
  await page.getByRole('row').first().click();
  await go(page, `#/run/${id}/step/s480`);
  await page.locator('[role=row][aria-selected=true]').waitFor();
  await page.locator('[role=treegrid]').focus();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(/step\/s481$/);
  await done(page);
}));

await test('rows stay where they are while finished steps above them are folded', () => using('many', async ({ mock, id, row, open }) => {
  const page = await open();
  await page.waitForSelector('[role=treegrid] [role=row]');
  const grid = page.getByRole('treegrid');
  await grid.evaluate((box) => (box.scrollTop = box.scrollHeight / 2));
  const pending = [...mock.runs.get(id).rows.values()].filter((item) => item.kind === 'step' && item.status === 'pending');
  const mark = page.getByRole('row', { name: pending[100].name });
  await mark.scrollIntoViewIfNeeded();
  await sleep(150);
  const before = (await mark.boundingBox()).y;
  mock.push(id, [...pending.slice(0, 10).map((step) => ({ ...step, status: 'succeeded' })), { ...row('run'), now: { step: null, action: null, text: 'ten are done', since: 1 } }]);
  await page.getByText('ten are done').first().waitFor();
  await sleep(150);
  assert.ok(Math.abs((await mark.boundingBox()).y - before) < 3, `it moved from ${before} to ${(await mark.boundingBox()).y}`);
  await done(page);
}));

await test('the conversation of a step is found behind those of other steps', () => using('healed', async ({ mock, open }) => {
  const talk = (id, step) => ({ id, role: 'user', purpose: 'step', step, text: `said in ${step}`, calls: [], result_of: null, tokens: null, at: 1794898770, truncated: 0 });
  mock.control.talk = (after) => ({ 0: { messages: [talk('a', 'read')], next: 5 }, 5: { messages: [talk('b', 'write')], next: 9 }, 9: { messages: [talk('c', 'note')], next: null } })[after ?? 0];
  const page = await open('/step/note/talk');
  await page.getByText('said in note').waitFor({ timeout: 5_000 });
  await done(page);
}));

await test('an output stands under the check that printed it', () => using('healed', async ({ mock, id, row, open }) => {
  mock.control.proofs = [{ label: 'first', hash: 'aaa' }];
  const page = await open('/step/write/proof');
  await page.getByRole('button', { name: /^Output/ }).click();
  await page.getByText('blob aaa').waitFor();
  mock.control.proofs = [{ label: 'second', hash: 'bbb' }];
  mock.push(id, [{ ...row('step:write'), attempt: 3 }]);
  await page.getByText('second', { exact: true }).waitFor();
  assert.equal(await page.getByText('blob aaa').count(), 0);
  await done(page);
}));

await test('a task that is being written stays while another page is looked at', () => using('healed', async ({ mock, id }) => {
  const page = await visit(mock, '#/new');
  await page.getByLabel('Task').fill('Fix the import');
  await page.getByLabel('Checks').fill('pytest -q');
  await go(page, `#/run/${id}`);
  await page.waitForSelector('button.node');
  await go(page, '#/new');
  assert.equal(await page.getByLabel('Task').inputValue(), 'Fix the import');
  await page.getByRole('button', { name: /^Start/ }).click();
  await page.waitForURL(/#\/run\//);
  await go(page, '#/new');
  assert.equal(await page.getByLabel('Task').inputValue(), '');
  await done(page);
}));

await test('figures that count the seconds are not read aloud each second, and whole seconds say how long nothing came', () => using('asking', async ({ mock, id, row, open }) => {
  const page = await open();
  mock.push(id, [question(mock, id, { times_out_at: Date.now() / 1000 + 300 }), { ...row('run'), status: 'running', open_questions: 0, now: { step: 'install', action: null, text: 'installing', since: Date.now() / 1000 - 3 } }]);
  await page.getByText('installing').first().waitFor();
  const said = await page.evaluate(async () => {
    const live = [...document.querySelectorAll('[aria-live=polite], [role=status]')];
    const quiet = (node) => (node instanceof Element ? node : node.parentElement)?.closest('[role=timer]');
    const found = [];
    const observer = new MutationObserver((records) => found.push(...records.filter((record) => !quiet(record.target)).map((record) => record.target.textContent)));
    for (const node of live) observer.observe(node, { subtree: true, childList: true, characterData: true });
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    return found;
  });
  assert.deepEqual(said, []);
  await mock.close();
  await page.waitForSelector('.link.stale');
  assert.match(await page.locator('.link.stale').textContent(), /^\s*no connection for \d+ s\s*$/);
  await page.context().close();
}));

await test('a run that is opened in another tab of the browser is shown there', () => using('healed', async ({ mock, id }) => {
  const page = await visit(mock, '#/');
  const link = page.locator(`a[href="#/run/${id}"]`);
  await link.waitFor();
  const [other] = await Promise.all([page.context().waitForEvent('page'), link.click({ modifiers: ['Control'] })]);
  await other.locator('button.node').first().waitFor({ timeout: 5_000 });
  await done(page);
}));

await end();
