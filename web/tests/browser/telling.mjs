// What the page says about what does not go on by itself: a run that cannot be read, a command that waits, the next try.
import assert from 'node:assert/strict';
import { startMock } from '../mock.mjs';
import { done, suite, violations } from './support.mjs';

const { test, visit, end } = await suite();
const mock = await startMock();
const id = mock.load('asking');
const row = (key) => mock.runs.get(id).rows.get(key);

await test('a run that the server cannot read is said, until rows come again', async () => {
  const page = await visit(mock, `#/run/${id}`);
  await page.waitForSelector('[data-question]');
  mock.io.to(id).emit('run:error', { v: 1, run: id, message: 'event 31 was changed' });
  const alert = page.getByRole('alert').filter({ hasText: 'event 31 was changed' });
  await alert.waitFor();
  assert.equal(await page.locator('[data-question]').count(), 1, 'what was known stays');
  mock.push(id, [row('run')]);
  await alert.waitFor({ state: 'detached' });
  await done(page);
});

await test('a command that waits for its run is shown so, until the run has taken it up', async () => {
  const page = await visit(mock, `#/run/${id}`);
  await page.waitForSelector('[data-question]');
  const sent = mock.control.sent.length;
  mock.control.queue = 'the run has not looked at it yet';
  await page.getByRole('button', { name: /^Deny/ }).click();
  await page.locator('[data-question] .sent', { hasText: 'is waiting: the run has not looked at it yet' }).waitFor();
  mock.control.queue = null;
  // The page asks again with the same command, which is carried out once.
  await page.waitForSelector('[data-question]', { state: 'detached' });
  await page.getByText(/accepted/).first().waitFor();
  assert.equal(new Set(mock.control.sent.slice(sent).map((command) => command.commandId)).size, 1);
  await done(page);
});

await test('the next attempt of a model call or a step is counted down from the time that the protocol gives', async () => {
  const other = mock.load('healed');
  const run = mock.runs.get(other).rows.get('run');
  const page = await visit(mock, `#/run/${other}/step/write`);
  await page.waitForSelector('button.node');
  const going = { ...run, live: true, status: 'running', ended_at: null, now: { step: 'write', action: null, text: 'the model failed: busy', since: Date.now() / 1000 } };
  const timers = page.getByRole('timer').filter({ hasText: /next attempt|trying/ });
  assert.equal(await timers.count(), 0);
  mock.push(other, [{ ...going, next_try: { at: Date.now() / 1000 + 50, what: 'model', step: 'write', number: 3, of: 4 } }]);
  await timers.first().waitFor();
  assert.equal(await timers.count(), 2, 'above the plan and in the step');
  const said = [];
  while (said.length < 3) {
    const text = await timers.first().innerText();
    assert.match(text, /^next attempt in \d+ s\s+\(call of the model, 3 of 4\)$/);
    const now = Number(/\d+/.exec(text)[0]);
    assert.ok(now <= (said.at(-1) ?? 50), `${now} after ${said}`);
    if (now !== said.at(-1)) said.push(now);
    await page.waitForTimeout(100);
  }
  mock.push(other, [{ ...going, next_try: { at: Date.now() / 1000 - 1, what: 'step', step: 'write', number: 2, of: 4 } }]);
  await timers.first().filter({ hasText: /trying again\s+\(attempt 2 of 4\)/ }).waitFor();
  mock.push(other, [{ ...going, next_try: null }]);
  await timers.first().waitFor({ state: 'detached' });
  mock.push(other, [run]);
  await done(page);
});

await test('the critical path is shown in the picture, with a button and a key, and kept', async () => {
  const other = mock.load('healed');
  const page = await visit(mock, `#/run/${other}`);
  await page.waitForSelector('button.node');
  const steps = [...mock.runs.get(other).rows.values()].filter((item) => item.kind === 'step').sort((a, b) => a.sequence - b.sequence);
  // Two ways to the last step: the slower one is the critical path.
  const [first, second, last] = steps;
  const at = first.started_at;
  const ended = (step, needs, from, to) => ({ ...step, needs, started_at: at + from, ended_at: at + to, status: 'succeeded' });
  mock.push(other, [ended(first, [], 0, 2), ended(second, [], 0, 7), ended(last, [first.id, second.id], 7, 10)]);
  const way = page.locator('button.node.way');
  assert.equal(await way.count(), 0);
  await page.getByRole('button', { name: /^Critical path/ }).click();
  await page.getByRole('button', { name: 'Critical path 10 s' }).waitFor();
  await way.first().waitFor();
  assert.deepEqual((await way.evaluateAll((nodes) => nodes.map((node) => node.dataset.node))).sort(), [last.id, second.id].sort());
  assert.notEqual(await page.locator('svg path.way').getAttribute('d'), '');
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press('c');
  await way.first().waitFor({ state: 'detached' });
  await page.keyboard.press('c');
  await page.reload();
  await way.first().waitFor();
  await done(page);
});

await mock.close();
await end();
