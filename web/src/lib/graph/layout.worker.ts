import { placeNodes, type LayoutRequest } from './dagre';

self.addEventListener('message', (event: MessageEvent<{ id: number; request: LayoutRequest }>) => {
  self.postMessage({ id: event.data.id, result: placeNodes(event.data.request) });
});
