// Positions of nodes by dagre. Runs in a worker on the page and directly in the report.

import { Graph as Dagre, layout } from '@dagrejs/dagre';

export interface LayoutRequest {
  nodes: string[];
  edges: { from: string; to: string }[];
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

export interface LayoutResult {
  places: Record<string, Place>;
  paths: Place[][];
  width: number;
  height: number;
}

export function placeNodes(request: LayoutRequest): LayoutResult {
  const graph = new Dagre();
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 44, marginx: 12, marginy: 12, ranker: 'tight-tree' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of request.nodes) graph.setNode(id, { width: request.width, height: request.height });
  for (const { from, to } of request.edges) graph.setEdge(from, to);
  layout(graph);
  const places: Record<string, Place> = {};
  for (const id of request.nodes) {
    const node = graph.node(id) as Place;
    places[id] = { x: node.x - request.width / 2, y: node.y - request.height / 2 };
  }
  const paths = request.edges.map(({ from, to }) => (graph.edge(from, to) as { points: Place[] }).points);
  const size = graph.graph() as { width?: number; height?: number };
  return { places, paths, width: size.width ?? 0, height: size.height ?? 0 };
}
