/** The parts of the built service that its benchmark takes hold of, as far as it needs them. */

interface JobStore {
  accept(endpointId: string, input: string): Promise<string>;
  work: {
    take(endpointId: string, takers: { workerId: string; isPulled: boolean }[]): Promise<{ id: string }[]>;
    settle(
      job: { id: string; workerId: string },
      outcome: { state: string; output: string },
    ): Promise<boolean>;
  };
  close(): void;
}

interface KeyStore {
  add(asked: { name: string; kind: string; endpoints: null }): { key: string };
  close(): void;
}

type EndpointSettings = object;

interface StartOptions {
  dataDir: string;
  keys: string[];
  endpoints: EndpointSettings[];
  workloadOf: () => undefined;
  rate: { requests: number; withinMs: number };
  now: () => number;
  onProblem: (text: string) => void;
}

interface Built {
  'jobs/job-book': {
    JobStore: new (path: string, options: { retentionMs: number; now: () => number }) => JobStore;
  };
  'keys/key-book': { KeyStore: new (path: string, options: { now: () => number }) => KeyStore };
  'endpoint-settings': { endpointSettings: (given: Record<string, unknown>) => EndpointSettings };
  'start-service': {
    startService: (options: StartOptions) => Promise<{ url: string; close: () => Promise<void> }>;
  };
}

/** Of what `npm run build` has left, so that what is measured is what users run. */
export async function built<Name extends keyof Built>(name: Name): Promise<Built[Name]> {
  return (await import(new URL(`../server/${name}.js`, import.meta.url).href)) as Built[Name];
}
