// The official JavaScript client: watches a run until an event, and prints what it has received.
import { createRequire } from "node:module";

const [modules, url, token, run, last, after] = process.argv.slice(2);
const { io } = createRequire(`${modules}/`)("socket.io-client");
const socket = io(url, {
  transports: ["websocket"],
  auth: { token },
  extraHeaders: { Authorization: `Bearer ${token}` },
});
const rows = {};
const messages = [];
let seq = Number(after || 0);
let snapshots = 0;
const end = () => {
  if (seq < Number(last)) return;
  // Messages of steps come right after the rows of the same events.
  setTimeout(() => {
    console.log(JSON.stringify({ rows, messages, seq, snapshots }));
    socket.close();
  }, 500);
};
socket.on("run:snapshot", (data, ack) => {
  snapshots += 1;
  for (const row of data.rows) rows[row.key] = row;
  seq = data.seq;
  ack();
  end();
});
socket.on("run:rows", (data, ack) => {
  if (data.after !== seq) throw new Error(`a gap: ${data.after} is not ${seq}`);
  for (const row of data.upserts) rows[row.key] = row;
  seq = data.upto;
  ack();
  end();
});
for (const name of ["tool:message:start", "tool:artifact", "tool:message:update", "tool:message:complete", "task:list"])
  socket.on(name, (data) => messages.push([name, data]));
socket.on("connect_error", (error) => {
  console.log(JSON.stringify({ error: error.message }));
  socket.close();
});
socket.on("connect", async () => {
  const answer = await socket.emitWithAck("run:watch", after ? { run, after: Number(after) } : { run });
  console.error(`watching from ${answer.head}`);
});
