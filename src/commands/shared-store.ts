/** What several processes of a service share, from its settings. */
import { parsePostgresAddress } from '../lib/postgres/address.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { SharedSettings } from '../service/config/shared-settings.ts';
import type { SharedOptions } from '../service/service-options.ts';
import { schemaParameter } from '../service/shared/page-store.ts';
import { openBucket } from './pictures-place.ts';

/** Throws `ConfigError` where variables or packages are missing. */
export async function sharedOptions(
  { store, files, peerUrl }: SharedSettings,
  hasKey: boolean,
  onChange: (text: string) => void,
): Promise<SharedOptions> {
  if (!hasKey) {
    const text = 'is not set; the processes that share a store need the same key to begin with';
    throw new ConfigError([{ where: 'NIGHTRENDER_API_KEY', text }]);
  }
  const address = parsePostgresAddress(store, [schemaParameter]);
  const bucket = files === undefined ? undefined : await openBucket(files);
  return { address, bucket, reachedAt: peerUrl, onChange };
}
