// Rows that arrive while the page asks for what follows: nothing is missed and nothing doubled, in every order of messages.
import assert from 'node:assert/strict';
import { startMock } from '../mock.mjs';
import { done, suite } from './support.mjs';

const { test, visit, end } = await suite();

/** A server whose answers to `run:watch` are given by hand, and which counts what the page asks. */
async function scripted() {
  const mock = await startMock();
  const id = mock.load('asking');
  const asked = [];
  const waiting = [];
  const early = [];
  mock.io.on('connection', (socket) => {
    socket.removeAllListeners('run:watch');
    socket.on('run:watch', ({ after }, ack) => {
      asked.push(after ?? null);
      void socket.join(id);
      const take = waiting.shift();
      if (take) take({ socket, after, ack });
      else early.push({ socket, after, ack });
    });
  });
  const next = () => (early.length > 0 ? Promise.resolve(early.shift()) : new Promise((resolve) => waiting.push(resolve)));
  const run = mock.runs.get(id);
  const state = { seq: run.seq };
  const rows = () => [...run.rows.values()];
  /** A new state of the run, not sent yet: another question. Gives the batch that leads to it. */
  const change = () => {
    const after = state.seq++;
    const open = rows().find((row) => row.kind === 'question' && row.answer === null);
    const question = { ...open, key: `question:n${state.seq}`, id: `n${state.seq}`, text: `Number ${state.seq}?` };
    run.rows.set(question.key, question);
    return { v: 1, run: id, after, upto: state.seq, upserts: [question], removed: [] };
  };
  const snapshot = () => ({ v: 1, run: id, seq: state.seq, rows: rows() });
  return { mock, id, asked, next, change, snapshot, state };
}

const questions = (page) => page.locator('[data-question]').count();
async function shows(page, count) {
  await page.waitForFunction((wanted) => document.querySelectorAll('[data-question]').length === wanted, count);
}

await test('a batch between the question for rows and the snapshot is neither lost nor shown twice', async () => {
  const { mock, id, asked, next, change, snapshot } = await scripted();
  const page = await visit(mock, `#/run/${id}`);
  const first = await next();
  assert.equal(first.after, undefined);
  // The batch overtakes the snapshot: the page has nothing to put it on, and asks again.
  const old = snapshot();
  const early = change();
  first.socket.emit('run:rows', early);
  first.ack({ head: early.after });
  first.socket.emit('run:snapshot', structuredClone({ ...old, seq: early.after, rows: old.rows.filter((row) => row.key !== early.upserts[0].key) }));
  const again = await next();
  assert.ok(again.after === undefined || again.after === early.after, `it asked from ${again.after}`);
  again.ack({ head: early.upto });
  again.socket.emit('run:rows', early);
  await shows(page, 2);
  // The same batch once more changes nothing.
  again.socket.emit('run:rows', early);
  again.socket.emit('run:rows', change());
  await shows(page, 3);
  assert.equal(asked.length, 2);
  await done(page);
  await mock.close();
});

await test('rows that come while the page asks again after a gap are applied once, in order', async () => {
  const { mock, id, asked, next, change, snapshot, state } = await scripted();
  const page = await visit(mock, `#/run/${id}`);
  const first = await next();
  first.ack({ head: state.seq });
  first.socket.emit('run:snapshot', snapshot());
  await shows(page, 1);
  const known = state.seq;
  // The first batch is lost. The second shows the gap, and a third comes while the page waits for its answer.
  const [lost, second, third] = [change(), change(), change()];
  first.socket.emit('run:rows', second);
  const again = await next();
  assert.equal(again.after, known);
  again.socket.emit('run:rows', third);
  again.socket.emit('run:rows', { ...lost, upto: second.upto, upserts: [...lost.upserts, ...second.upserts] });
  again.ack({ head: third.upto });
  // The third was a gap too when it came, so the page asks once more, from what it has by then.
  const last = await next();
  assert.equal(last.after, second.upto);
  last.ack({ head: third.upto });
  last.socket.emit('run:rows', third);
  await shows(page, 4);
  const texts = await page.locator('[data-question]').allInnerTexts();
  for (const batch of [lost, second, third]) assert.equal(texts.filter((text) => text.includes(batch.upserts[0].text)).length, 1);
  assert.deepEqual(asked, [null, known, second.upto]);
  await done(page);
  await mock.close();
});

await test('a snapshot that is older than the rows, and one that is newer, leave the newest state', async () => {
  const { mock, id, next, change, snapshot, state } = await scripted();
  const page = await visit(mock, `#/run/${id}`);
  const { socket, ack } = await next();
  const old = structuredClone(snapshot());
  ack({ head: state.seq });
  socket.emit('run:snapshot', old);
  const batch = change();
  socket.emit('run:rows', batch);
  await shows(page, 2);
  socket.emit('run:snapshot', old);
  const later = change();
  socket.emit('run:snapshot', snapshot());
  socket.emit('run:rows', later);
  socket.emit('run:rows', batch);
  const end = change();
  socket.emit('run:rows', end);
  await shows(page, 4);
  assert.equal(await questions(page), 4);
  await done(page);
  await mock.close();
});

await end();
