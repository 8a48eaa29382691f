/** Checks the name, kind and endpoints of a new key. */
import type { FieldProblem } from '../endpoint-settings.ts';
import { keyKinds, type KeyKind } from './key.ts';

/** As it comes from a form or a command line. */
export interface KeyForm {
  name: string;
  kind: string;
  endpoints: string[] | null;
}

const maxNameLength = 64;
const maxEndpoints = 100;

/** Its problems; empty where it can be created. */
export function checkKey({ name, kind, endpoints }: KeyForm): FieldProblem[] {
  return [
    ...problem('name', wrongName(name)),
    ...problem(
      'kind',
      isKeyKind(kind) ? undefined : `${JSON.stringify(kind)} is not a kind of key; ${kinds}`,
    ),
    ...problem('endpoints', endpoints === null ? undefined : wrongEndpoints(endpoints, kind)),
  ];
}

export function isKeyKind(kind: string): kind is KeyKind {
  return keyKinds.some((each) => each === kind);
}

/** Ids stand beside names wherever a key is asked for: none of them can be both. */
const idPattern = /^key-[0-9a-f]{16}$/i;

const kinds = `expected one of ${keyKinds.join(', ')}`;

function wrongName(name: string): string | undefined {
  if (name === '') return 'the key needs a name';
  if (name.length > maxNameLength)
    return `the name has ${name.length} characters; expected at most ${maxNameLength}`;
  if (!/^[A-Za-z0-9._-]+( [A-Za-z0-9._-]+)*$/.test(name) || name.startsWith('-'))
    return `${JSON.stringify(name)} cannot be a name; expected letters from A to Z, digits, dots, underscores, hyphens and single spaces between them`;
  return idPattern.test(name) ? `${name} looks like the id of a key; expected another name` : undefined;
}

function wrongEndpoints(endpoints: string[], kind: string): string | undefined {
  if (kind === 'admin') return 'an admin key is valid for all endpoints, since it can create other keys';
  if (endpoints.length === 0) return 'a key needs at least one endpoint; leave endpoints out for all';
  if (endpoints.length > maxEndpoints)
    return `${endpoints.length} endpoints are named; expected at most ${maxEndpoints}, or none for all`;
  const wrong = endpoints.find((id) => !/^[A-Za-z0-9_-]{1,128}$/.test(id));
  return wrong === undefined ? undefined : `${JSON.stringify(wrong)} cannot be the id of an endpoint`;
}

function problem(field: keyof KeyForm, text: string | undefined): FieldProblem[] {
  return text === undefined ? [] : [{ field, text }];
}
