/** What a request is about, as far as faults go. */

export interface FaultTarget {
  place: 'submit' | 'status' | 'everything';
  operation: string;
  /** Undefined where the path names none. */
  jobId: string | undefined;
}

/** The operations of clients; workers and people at the console are left alone. */
const places: ReadonlyMap<string, FaultTarget['place']> = new Map([
  ['run', 'submit'],
  ['runsync', 'submit'],
  ['render', 'submit'],
  ['status', 'status'],
  ['status-sync', 'status'],
  ['stream', 'status'],
  ['cancel', 'everything'],
  ['retry', 'everything'],
  ['health', 'everything'],
  ['purge-queue', 'everything'],
]);

/** `url` is a request's target; undefined for what no fault is met by. */
export function readFaultTarget(url: string): FaultTarget | undefined {
  const [, operation = '', jobId] = /^\/v[12]\/[^/?]+\/([a-z-]+)(?:\/([^/?]*))?(?:\?|$)/.exec(url) ?? [];
  const place = places.get(operation);
  return place === undefined ? undefined : { place, operation, jobId };
}
