/** What a key of the service is: who it stands for, and what it is good for. */

export const keyKinds = ['client', 'worker', 'admin'] as const;

/** `client` for the job interface, `worker` for the pull operations, `admin` for the console. */
export type KeyKind = (typeof keyKinds)[number];

/** Whom a request comes from. */
export interface KeyHolder {
  id: string;
  name: string;
  kind: KeyKind;
  /** Ids of the endpoints it is good for; null for all. */
  endpoints: string[] | null;
}

/** Instants are epoch ms. */
export interface KeyRecord extends KeyHolder {
  createdAt: number;
  /** Exact to the minute. */
  lastUsedAt: number | null;
  revokedAt: number | null;
}

/** What can be asked for: the job interface, the workers' pull operations, or the console. */
export type KeyRight = 'jobs' | 'work' | 'console';

const rights = {
  client: ['jobs'],
  worker: ['work'],
  admin: ['jobs', 'console'],
} as const satisfies Record<KeyKind, readonly KeyRight[]>;

/** `endpointId`: the endpoint it is about; undefined where it is about none, such as a page of the console. */
export function permits(key: KeyHolder, right: KeyRight, endpointId?: string): boolean {
  const isKind = (rights[key.kind] as readonly KeyRight[]).includes(right);
  const isInScope =
    key.endpoints === null || (endpointId !== undefined && key.endpoints.includes(endpointId));
  return isKind && isInScope;
}
