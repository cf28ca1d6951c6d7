// A report is one file without a worker: a graph of at most 150 nodes is laid out directly.

import { placeNodes, type LayoutRequest, type LayoutResult } from './dagre';

export function placeGraph(request: LayoutRequest): Promise<LayoutResult> {
  return Promise.resolve(placeNodes(request));
}
