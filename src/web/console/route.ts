/** The routes of the console, kept in the hash of the address, and the state of the service that all parts share. */
import { createContext } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import type {
  CatalogueEntry,
  EndpointFields,
  EndpointView,
  Overview,
  WorkloadForm,
} from '../../protocol/console-data.ts';
import { useHash } from '../shared/hooks.ts';
import { isOfCard, workloadIn } from './endpoint-draft.ts';

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

function readRoute(hash: string): Route {
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

/** The state of the service that all parts of the console share. */
export interface Service {
  overview: Overview;
  catalogue: CatalogueEntry[];
  fields: EndpointFields;
  /** Service's clock minus this machine's clock, in ms. */
  aheadMs: number;
  /** Polls the overview at once. Resolves after the response. */
  refresh(): Promise<void>;
  /** Shows and announces a message. `at`: hash of the page to show it on; this page by default. */
  say(text: string, at?: string): void;
}

export const ServiceContext = createContext<Service | undefined>(undefined);

export function useService(): Service {
  const service = useContext(ServiceContext);
  if (service === undefined) throw new Error('a part of the console stands outside of it');
  return service;
}

export function useEndpoint(id: string): EndpointView | undefined {
  return useService().overview.endpoints.find(({ settings }) => settings.id === id);
}

/** Returns an endpoint's workload and card. Cards of one image take the same input, so any will do. */
export function useWorkload({ settings }: EndpointView): {
  workload: WorkloadForm;
  card: CatalogueEntry | undefined;
} {
  const { fields, catalogue } = useService();
  const workload = workloadIn(fields.workloads, settings);
  return { workload, card: catalogue.find((entry) => isOfCard(entry, workload, settings)) };
}
