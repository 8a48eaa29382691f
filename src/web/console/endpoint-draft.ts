/** The state of the endpoint form: keys of service.yaml with their texts, also of workloads no longer chosen. */
import type { CatalogueEntry, WorkloadForm } from '../../protocol/console-data.ts';
import type { Problem } from './ask.ts';

export type Keys = Readonly<Record<string, unknown>>;

export interface PartProps {
  keys: Keys;
  workload: WorkloadForm;
  problems: Problem[];
  /** Changes keys; undefined removes a key. */
  onChange(change: Keys, workload?: WorkloadForm): void;
}

/** Returns the workload of an endpoint, or the first one if no key names any. */
export function workloadIn(all: WorkloadForm[], keys: Keys): WorkloadForm {
  const found = all.find(
    ({ key, values }) => keys[key] !== undefined && (values === undefined || values.includes(keys[key])),
  );
  const [first] = all;
  if (first === undefined) throw new Error('the service runs no workload');
  return found ?? first;
}

/** True if a card of the catalogue offers this workload with this value. */
export function isOfCard({ runs }: CatalogueEntry, { key, values }: WorkloadForm, keys: Keys): boolean {
  const [[name, value] = ['', '']] = Object.entries(runs);
  return name === key && (values === undefined ? keys[key] === value : values.includes(value));
}

/** Returns the value if it has keys of its own, else an empty object. */
export function sectionOf(value: unknown): Keys {
  return isSection(value) ? value : {};
}

export function isSection(value: unknown): value is Keys {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a section with a changed key. Undefined if no keys are left. */
export function withKey(section: Keys, key: string, value: unknown): Keys | undefined {
  const all = Object.entries({ ...section, [key]: value }).filter(([, each]) => each !== undefined);
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

/** Returns the text of all problems at or below the paths. */
export function problemAt(problems: Problem[], ...paths: string[]): string {
  const found = problems.filter(({ field }) =>
    paths.some((path) => field === path || field.startsWith(`${path}.`)),
  );
  // A variable has no field of its own, so its name precedes the text.
  const whose = (field: string): string => /^environment\.(.*)/.exec(field)?.[1]?.concat(': ') ?? '';
  return found.map(({ field, text }) => `${whose(field)}${text}`).join(' ');
}
