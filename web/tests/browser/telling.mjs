// What the page says about what does not go on by itself: a run that cannot be read, a command that waits, the next try.
import assert from 'node:assert/strict';
import { startMock } from '../mock.mjs';
import { done, suite } from './support.mjs';

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

await mock.close();
await end();
