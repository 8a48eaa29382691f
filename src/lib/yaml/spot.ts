/** Where a value stands in a YAML document, through aliases and merge keys. */
import { isAlias, isMap, isNode, isScalar, isSeq, type Document, type Node } from 'yaml';
import type { Path } from './yaml-file.ts';

export interface Spot {
  /** What stands there; undefined where nothing does. */
  node: Node | undefined;
  /** Of the value, or of the alias or merge key that brings it. */
  valueOffset: number;
  /** Of its key; where nothing is there, of the key of the nearest thing around it. */
  keyOffset: number;
}

export function spotOf(document: Document, path: Path): Spot {
  let spot: Spot = {
    node: document.contents ?? undefined,
    valueOffset: offsetOf(document.contents, 0),
    keyOffset: 0,
  };
  let isElsewhere = false;
  for (const name of path) {
    isElsewhere ||= isAlias(spot.node);
    const child = childOf(document, resolved(document, spot.node), name);
    if (child === undefined) return { ...spot, node: undefined };
    const { key, value, through } = child;
    const keyOffset = isElsewhere ? spot.keyOffset : offsetOf(through ?? key, spot.keyOffset);
    const valueOffset = isElsewhere ? spot.valueOffset : offsetOf(through ?? value, keyOffset);
    isElsewhere ||= through !== undefined;
    spot = { node: isNode(value) ? value : undefined, valueOffset, keyOffset };
  }
  return { ...spot, node: resolved(document, spot.node) };
}

interface Child {
  key: unknown;
  value: unknown;
  /** The `<<` that brings it. */
  through?: unknown;
}

function childOf(document: Document, node: Node | undefined, name: string | number): Child | undefined {
  if (isSeq(node)) {
    const value = node.items[Number(name)];
    return value === undefined ? undefined : { key: value, value };
  }
  if (!isMap(node)) return undefined;
  const own = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(name));
  if (own !== undefined) return own;
  for (const { key, value } of node.items) {
    if (!isScalar(key) || key.value !== '<<' || !isNode(value)) continue;
    const source = resolved(document, value);
    for (const map of isSeq(source) ? source.items : [source]) {
      const child = isNode(map) ? childOf(document, resolved(document, map), name) : undefined;
      if (child !== undefined) return { ...child, through: key };
    }
  }
  return undefined;
}

function resolved(document: Document, node: Node | undefined): Node | undefined {
  return isAlias(node) ? node.resolve(document) : node;
}

function offsetOf(node: unknown, otherwise: number): number {
  return isNode(node) ? (node.range?.[0] ?? otherwise) : otherwise;
}
