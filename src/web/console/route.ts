/** The routes of the console, kept in the hash of the address. */
import { useMemo } from 'preact/hooks';
import { useHash } from '../shared/hooks.ts';

export type Route =
  | { page: 'overview' | 'new' | 'jobs' | 'machines' | 'addMachine' | 'keys' | 'nowhere' }
  | { page: 'endpoint' | 'edit' | 'job'; id: string };

export const to = {
  overview: '#/',
  new: '#/new',
  jobs: '#/jobs',
  machines: '#/machines',
  addMachine: '#/machines/add',
  keys: '#/keys',
  endpoint: (id: string): string => `#/endpoints/${encodeURIComponent(id)}`,
  edit: (id: string): string => `#/endpoints/${encodeURIComponent(id)}/edit`,
  job: (id: string): string => `#/jobs/${encodeURIComponent(id)}`,
} as const;

export function readRoute(hash: string): Route {
  const [first = '', second, third, ...more] = hash
    .replace(/^#?\/?/, '')
    .split('/')
    .map(decoded);
  if (more.length > 0) return { page: 'nowhere' };
  if (second === undefined) {
    if (first === '') return { page: 'overview' };
    return isPage(first) ? { page: first } : { page: 'nowhere' };
  }
  if (first === 'machines' && second === 'add' && third === undefined) return { page: 'addMachine' };
  if (first === 'jobs' && third === undefined) return { page: 'job', id: second };
  if (first !== 'endpoints') return { page: 'nowhere' };
  if (third === undefined) return { page: 'endpoint', id: second };
  return third === 'edit' ? { page: 'edit', id: second } : { page: 'nowhere' };
}

const pages = ['new', 'jobs', 'machines', 'keys'] as const;

function isPage(text: string): text is (typeof pages)[number] {
  return (pages as readonly string[]).includes(text);
}

export function useRoute(): [string, Route] {
  const [hash] = useHash();
  const route = useMemo(() => readRoute(hash), [hash]);
  return [hash, route];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
