// Folds chains and fans of a large plan into single nodes, so that a picture stays readable. Pure.

import { worst, type Look } from '../look';

export interface PlanNode {
  id: string;
  needs: readonly string[];
  look: Look;
}

export interface GraphNode {
  id: string;
  /** The steps inside; one for a plain node. */
  members: readonly string[];
  look: Look;
}

export interface Graph {
  nodes: GraphNode[];
  edges: { from: string; to: string }[];
}

/** What a person looks at now is never folded away. */
const KEEP: ReadonlySet<Look> = new Set<Look>(['running', 'waiting', 'failed']);
const LEAST = 3;

export function foldPlan(plan: readonly PlanNode[], limit: number, opened: ReadonlySet<string> = new Set()): Graph {
  const known = new Set(plan.map((node) => node.id));
  const needs = new Map(plan.map((node) => [node.id, node.needs.filter((id) => known.has(id))]));
  const group = new Map<string, string>();
  if (plan.length > limit) {
    foldChains(plan, needs, group, opened);
    foldFans(plan, needs, group, opened);
  }
  return build(plan, needs, group);
}

function children(plan: readonly PlanNode[], needs: ReadonlyMap<string, string[]>): Map<string, string[]> {
  const found = new Map<string, string[]>(plan.map((node) => [node.id, []]));
  for (const [id, before] of needs) for (const parent of before) found.get(parent)?.push(id);
  return found;
}

function foldChains(plan: readonly PlanNode[], needs: Map<string, string[]>, group: Map<string, string>, opened: ReadonlySet<string>): void {
  const next = children(plan, needs);
  const byId = new Map(plan.map((node) => [node.id, node]));
  const quiet = (id: string): boolean => !KEEP.has(byId.get(id)?.look ?? 'pending');
  const only = (list: string[] | undefined): string | null => (list?.length === 1 ? (list[0] ?? null) : null);
  const seen = new Set<string>();
  for (const node of plan) {
    if (seen.has(node.id) || !quiet(node.id)) continue;
    const before = only(needs.get(node.id));
    // Starts a chain: no single quiet parent continues into it.
    if (before !== null && quiet(before) && only(next.get(before)) === node.id) continue;
    const chain = [node.id];
    seen.add(node.id);
    for (let at = only(next.get(node.id)); at !== null && quiet(at) && needs.get(at)?.length === 1 && !seen.has(at); at = only(next.get(at))) {
      chain.push(at);
      seen.add(at);
    }
    put(chain, 'chain', group, opened);
  }
}

function foldFans(plan: readonly PlanNode[], needs: Map<string, string[]>, group: Map<string, string>, opened: ReadonlySet<string>): void {
  const next = children(plan, needs);
  const fans = new Map<string, string[]>();
  for (const node of plan) {
    if (group.has(node.id) || KEEP.has(node.look)) continue;
    const around = JSON.stringify([[...(needs.get(node.id) ?? [])].sort(), [...(next.get(node.id) ?? [])].sort()]);
    const list = fans.get(around);
    if (list) list.push(node.id);
    else fans.set(around, [node.id]);
  }
  for (const fan of fans.values()) put(fan, 'fan', group, opened);
}

function put(members: string[], kind: string, group: Map<string, string>, opened: ReadonlySet<string>): void {
  const name = `${kind}:${members[0] ?? ''}`;
  if (members.length < LEAST || opened.has(name)) return;
  for (const id of members) group.set(id, name);
}

function build(plan: readonly PlanNode[], needs: ReadonlyMap<string, string[]>, group: ReadonlyMap<string, string>): Graph {
  const members = new Map<string, PlanNode[]>();
  for (const node of plan) {
    const name = group.get(node.id) ?? node.id;
    const list = members.get(name);
    if (list) list.push(node);
    else members.set(name, [node]);
  }
  const nodes = [...members].map(([id, inside]) => ({
    id,
    members: inside.map((node) => node.id),
    look: inside.length === 1 ? (inside[0] as PlanNode).look : worst(inside.map((node) => node.look)),
  }));
  const edges = new Map<string, { from: string; to: string }>();
  for (const [id, before] of needs) {
    for (const parent of before) {
      const [from, to] = [group.get(parent) ?? parent, group.get(id) ?? id];
      if (from !== to) edges.set(`${from}\n${to}`, { from, to });
    }
  }
  return { nodes, edges: reduce([...edges.values()]) };
}

/** Leave out an edge if another way leads there: a picture with fewer lines says the same. */
export function reduce(edges: { from: string; to: string }[]): { from: string; to: string }[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const list = next.get(from);
    if (list) list.push(to);
    else next.set(from, [to]);
  }
  const longer = (from: string, to: string): boolean => {
    const todo = (next.get(from) ?? []).filter((id) => id !== to);
    const seen = new Set(todo);
    while (todo.length > 0) {
      const at = todo.pop() as string;
      if (at === to) return true;
      for (const id of next.get(at) ?? []) if (!seen.has(id)) seen.add(id) && todo.push(id);
    }
    return false;
  };
  return edges.filter(({ from, to }) => (next.get(from)?.length ?? 0) < 2 || !longer(from, to));
}
