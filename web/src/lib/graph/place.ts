// Lays out a graph in a worker that is started with the first graph. Where no worker may start, it is done here:
// a graph has at most 150 nodes.

import type { LayoutRequest, LayoutResult } from './dagre';
import workerUrl from './layout.worker?worker&url';

type Waiting = { resolve: (result: LayoutResult) => void; reject: (error: Error) => void };

let worker: Worker | null = null;
let next = 0;
let refused = false;
const waiting = new Map<number, Waiting>();

export async function placeGraph(request: LayoutRequest): Promise<LayoutResult> {
  if (!refused) {
    try {
      return await inWorker(request);
    } catch {
      // The server may only be away. The worker is refused for good if the same code can be loaded without it.
    }
  }
  const { placeNodes } = await import('./dagre');
  refused = true;
  return placeNodes(request);
}

function inWorker(request: LayoutRequest): Promise<LayoutResult> {
  worker ??= start();
  const running = worker;
  return new Promise((resolve, reject) => {
    const id = next++;
    waiting.set(id, { resolve, reject });
    running.postMessage({ id, request });
  });
}

function start(): Worker {
  const made = new Worker(trusted(workerUrl), { type: 'module', name: 'layout' });
  made.addEventListener('message', (event: MessageEvent<{ id: number; result: LayoutResult }>) => {
    waiting.get(event.data.id)?.resolve(event.data.result);
    waiting.delete(event.data.id);
  });
  made.addEventListener('error', (event) => {
    for (const { reject } of waiting.values()) reject(new Error(event.message || 'the layout worker did not start'));
    waiting.clear();
    worker = null;
  });
  return made;
}

interface Policy {
  createScriptURL(url: string): unknown;
}
interface Policies {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): Policy;
}
/** Made once: a second policy of the same name is refused. */
let policy: Policy | null = null;

/** A worker's address has to be a trusted one. This policy vouches for exactly the worker that was built with the page. */
function trusted(url: string): string {
  const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes;
  if (!policies) return url;
  policy ??= policies.createPolicy('surefoot-worker', {
    createScriptURL: (text) => {
      if (text !== workerUrl) throw new TypeError('not the layout worker');
      return text;
    },
  });
  return policy.createScriptURL(url) as string;
}
