// The official JavaScript client: watches a run until an event, and prints what it has received. It connects again when
// the server was gone, and goes on where it was.
import { createRequire } from "node:module";

const [modules, url, token, run, last, after] = process.argv.slice(2);
const { io } = createRequire(`${modules}/`)("socket.io-client");
const socket = io(url, {
  transports: ["websocket"],
  auth: { token },
  extraHeaders: { Authorization: `Bearer ${token}` },
  reconnectionDelay: 100,
  reconnectionDelayMax: 300,
});
const rows = {};
const messages = [];
const texts = [];
let seq = Number(after || 0);
let snapshots = 0;
let connections = 0;
let ending = false;
const end = () => {
  const ended = last === "end" ? rows.run?.ended_at : seq >= Number(last);
  if (!ended || ending) return;
  ending = true;
  // Text that was being written may still come.
  setTimeout(() => {
    console.log(JSON.stringify({ rows, messages, texts, seq, snapshots, connections }));
    socket.close();
  }, 500);
};
socket.on("run:snapshot", (data, ack) => {
  snapshots += 1;
  for (const row of data.rows) rows[row.key] = row;
  seq = data.seq;
  console.error(`snapshot of ${seq}`);
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
socket.on("stream:text", (data) => {
  texts.push(data);
  console.error(`text ${JSON.stringify(data.text)}`);
});
socket.on("connect_error", (error) => {
  // A refusal ends the tries; a server that was there and is gone does not.
  if (socket.active && connections > 0) return;
  console.log(JSON.stringify({ error: error.message }));
  socket.close();
});
socket.on("connect", async () => {
  connections += 1;
  const answer = await socket.emitWithAck("run:watch", seq ? { run, after: seq } : { run });
  console.error(`watching from ${answer.head}`);
});
