/** Settings of a service with several processes, which share a database and a bucket. */
import { z } from 'zod';
import { isPostgresAddress, postgresExpected } from '../../lib/postgres/address.ts';
import { bucketExpected, bucketUrl } from '../../lib/s3/address.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import type { FieldExpectation } from '../workloads/workload-definition.ts';

export interface SharedSettings {
  /** Address of the database, which may contain a password. */
  store: string;
  /** `s3://bucket/folder/` for long texts; undefined if the database holds them. */
  files?: string | undefined;
  peerUrl?: string | undefined;
}

const peerExpected = 'how the other processes reach this one, such as http://10.0.0.5:4747';

export const sharedFields = {
  store: z
    .string(postgresExpected)
    .refine(isPostgresAddress, postgresExpected)
    .optional()
    .describe(
      'a PostgreSQL database that any number of `nightrender serve` share as `${DATABASE_URL}`; left out, the service is one process with a file of its own',
    ),
  files: z
    .string(bucketExpected)
    .refine((text) => bucketUrl(text) !== undefined, bucketExpected)
    .transform((text) => bucketUrl(text))
    .optional()
    .describe(
      'with `store`: a bucket for inputs and results above 256 kB, which are in the database otherwise',
    ),
  peerUrl: z
    .string(peerExpected)
    .regex(/^https?:\/\/[^\s/?#@]+$/, peerExpected)
    .refine((text) => URL.canParse(text), peerExpected)
    .optional()
    .describe('with `store`: the address at which the other processes reach this one'),
};

/** Returns problems of the shared settings with each other and with the rest of service.yaml. */
export function sharedProblems(given: unknown): FieldExpectation[] {
  if (!isJsonObject(given)) return [];
  const { store, files, peerUrl, host, tls } = given;
  const alone = 'none: it is for several processes, which share a `store`';
  if (store === undefined)
    return Object.entries({ files, peerUrl }).flatMap(([field, value]) =>
      value === undefined ? [] : [{ field, expected: alone }],
    );
  const isAnywhere = host === '0.0.0.0' || host === '::';
  return peerUrl === undefined && (isAnywhere || tls !== undefined)
    ? [{ field: 'peerUrl', expected: peerExpected }]
    : [];
}
