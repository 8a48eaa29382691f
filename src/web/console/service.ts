/** The state of the service that all parts of the console share. */
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
  catalogue: CatalogueEntry[];
  fields: EndpointFields;
  /** Service's clock minus this machine's clock, in ms. */
  aheadMs: number;
  /** Polls the overview at once. Resolves after the response. */
  refresh(): Promise<void>;
  /**
   * Shows a message at the top of the page and announces it to screen readers. `at`: hash of the page to show
   * it on. Default: this page.
   */
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

/**
 * Returns an endpoint's workload and the card of the catalogue that it was created from. Cards of one image
 * take the same input, so any of them will do.
 */
export function useWorkload({ settings }: EndpointView): {
  workload: WorkloadForm;
  card: CatalogueEntry | undefined;
} {
  const { fields, catalogue } = useService();
  const workload = workloadIn(fields.workloads, settings);
  return { workload, card: catalogue.find((entry) => isOfCard(entry, workload, settings)) };
}
