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

await mock.close();
await end();
