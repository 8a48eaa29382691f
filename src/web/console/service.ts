/** What every part of the console knows of the service. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type {
  CatalogueEntry,
  EndpointFields,
  EndpointView,
  Overview,
  WorkloadForm,
} from '../../protocol/console-data.ts';
import { isOfCard, workloadIn } from './endpoint-draft.ts';

export interface Service {
  overview: Overview;
  /** What is offered for quick deploy. */
  catalogue: CatalogueEntry[];
  /** What the form of an endpoint is made of. */
  fields: EndpointFields;
  /** How far the service's clock is ahead of this machine's. */
  aheadMs: number;
  /** Looks at the overview at once; resolves when it has looked. */
  refresh(): Promise<void>;
  /** Tells what was done, at the top of the page and to screen readers; at another place once one has got there. */
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

/** Returns what an endpoint runs, and the card of the catalogue that it was made of. Cards of one image have one input. */
export function useWorkload({ settings }: EndpointView): {
  workload: WorkloadForm;
  card: CatalogueEntry | undefined;
} {
  const { fields, catalogue } = useService();
  const workload = workloadIn(fields.workloads, settings);
  return { workload, card: catalogue.find((entry) => isOfCard(entry, workload, settings)) };
}
