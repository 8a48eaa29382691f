/** Schema of service.yaml with all keys and defaults. Messages of the schema say which value is expected. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { isAddressRange, proxyUrl } from '../../lib/net/addresses.ts';
import { isPostgresAddress, postgresExpected } from '../../lib/postgres/postgres.ts';
import { bucketExpected, bucketUrl } from '../../lib/s3/bucket-address.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import { fileSchema, type Layout } from '../../lib/yaml/check-shape.ts';
import {
  address,
  count,
  durationWithin,
  filePath,
  longestWait,
  sizeWithin,
} from '../../lib/yaml/scalar-schemas.ts';
import type { FieldExpectation } from '../workloads/workload-definition.ts';
import { endpointSchema } from './endpoint-schema.ts';

const hostExpected = 'an address such as 127.0.0.1 or 0.0.0.0, or a name of this machine';

const host = z
  .string(hostExpected)
  .refine(
    (text) => isIP(text) !== 0 || /^(?!\d+(\.\d+)*$)[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text),
    hostExpected,
  )
  .default('127.0.0.1')
  .describe('the address to listen on; any other than loopback requires a key, and `tls` or `insecure`');

const urlExpected = 'an address such as https://render.example';

const publicUrl = address(urlExpected).describe(
  'the address of the service for workers that a cluster runs (`on`), and for containers with a network of their own',
);

const tls = z.strictObject({
  cert: filePath.describe('the file of the certificate, in PEM, with those of its issuers behind it'),
  key: filePath.describe('the file of its private key, in PEM, without a passphrase'),
  hsts: z
    .boolean('true or false')
    .default(true)
    .describe('true tells browsers to use only HTTPS for this name, at all of its ports, for 30 days'),
});

const rangeExpected = 'an address or a range, such as 10.0.0.0/8';

const limits = z.strictObject({
  maxBody: sizeWithin('1kB', '1GB').prefault('10MiB').describe('the largest body of a submission'),
  maxResult: sizeWithin('1kB', '1GB')
    .prefault('100MB')
    .describe('the largest result of a worker; a job with a larger one fails'),
  maxValues: count(1_000, 1_000_000_000, 'values in the JSON of a submission or a result')
    .default(10_000_000)
    .describe(
      'values (objects, lists, texts, numbers) in a submission, which is refused with more, and in a result, whose job fails',
    ),
  requestsPerSecond: count(1, 1_000_000, 'requests of one key per second')
    .default(10_000)
    .describe('requests of one key per second; the excess is answered with 429'),
  maxConnections: count(1, 100_000, 'concurrent connections')
    .default(1_000)
    .describe(
      'concurrent connections; a client key may have requests in progress on half of them, all client keys together on three quarters',
    ),
  requestTimeout: durationWithin('1s', '1h')
    .prefault('1m')
    .describe(
      'a request of which nothing arrives for this long is refused (408); at 1 kB a second or more it may take up to `bodyTime`',
    ),
  bodyTime: durationWithin('1m', longestWait)
    .prefault('1h')
    .describe(
      'a submission or a result that takes longer to arrive is refused (408), so that no key holds a connection without end',
    ),
  maxQueued: count(1, 10_000_000, 'jobs that wait at an endpoint')
    .default(10_000)
    .describe('jobs that wait at an endpoint without a limit of its own'),
  silence: durationWithin('15s', '1h')
    .prefault('1m')
    .describe(
      'a remote or container worker without a heartbeat for this long is considered dead, and its job is requeued; public workers send one every 10 s',
    ),
});

const proxies = z
  .array(
    z.string(rangeExpected).refine(isAddressRange, rangeExpected),
    'a list of addresses such as [127.0.0.1]',
  )
  .default([])
  .describe('addresses of reverse proxies, whose X-Forwarded-For and X-Forwarded-Proto are believed');

const proxyExpected = 'the address of a proxy, such as http://proxy.example:3128';

const webhooks = z.strictObject({
  private: z
    .boolean('true or false')
    .optional()
    .describe(
      'true if webhooks may lead to this machine and its network; by default only if `host` is loopback and `proxies`, `hosts`, `publicUrl` and `peerUrl` are not set',
    ),
  proxy: z
    .string(proxyExpected)
    .regex(/^https?:\/\/[^\s/?#]+\/?$/i, proxyExpected)
    .refine((text) => proxyUrl(text) !== undefined, proxyExpected)
    .optional()
    .describe('the proxy for webhooks, such as `http://proxy.example:3128`; without it they use none'),
  allowPrivate: z.boolean('true or false').optional().describe('the earlier name of `private`'),
});

const webConsole = z.strictObject({
  programs: z
    .boolean('true or false')
    .default(true)
    .describe(
      'false refuses endpoints of the console that say which programs run on this machine: `command`, `module`, `arguments` and added `capabilities` of containers, `blender.program`, `blender.scripts`, `environment` outside of containers, and `on`',
    ),
});

const shutdown = z.strictObject({
  grace: durationWithin('0s', '1h')
    .prefault('30s')
    .describe(
      'after SIGTERM or SIGINT, running jobs of own workers have this long to end; what still runs then goes back to the queue',
    ),
});

const nameExpected = 'a name such as render.example, without a port';

const name = z
  .string(nameExpected)
  .regex(/^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/, nameExpected);

const originExpected = 'an origin such as https://studio.example, or "*" for any site';

const origin = z
  .string(originExpected)
  .refine((text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text), originExpected);

const peerExpected = 'how the other processes reach this one, such as http://10.0.0.5:4747';

const sharedFields = {
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

export const serviceSchema = z.strictObject({
  host,
  port: count(0, 65_535, 'a port').default(4747).describe('the port; 0 picks a free one'),
  publicUrl: publicUrl.optional(),
  tls: tls.optional().describe('serves HTTPS instead of HTTP; renewed files are read by themselves'),
  insecure: z
    .boolean('true or false')
    .default(false)
    .describe('true allows plain HTTP to other machines; keys and pictures can be read on the way'),
  proxies,
  hosts: z
    .array(name, 'a list of names such as [render.example]')
    .default([])
    .describe(
      'names of the service, such as that of its proxy: under others than these and its own, nothing is answered without a key, so no console',
    ),
  retention: durationWithin('1s', longestWait)
    .prefault('30m')
    .describe('inputs and results are deleted this long after completion'),
  limits: limits.prefault({}).describe('limits of the service'),
  shutdown: shutdown.prefault({}).describe('the end of the service'),
  console: webConsole.prefault({}).describe('the console'),
  webhooks: webhooks.prefault({}).describe('notifications of ended jobs, for submissions that ask for one'),
  cors: z
    .array(origin, 'a list of origins such as [https://studio.example]')
    .default([])
    .describe('sites whose pages may use the job interface from a browser, with a key; none by default'),
  ...sharedFields,
  endpoints: z
    .array(endpointSchema, 'a list of endpoints such as [{name: Pictures, quickDeploy: scene-renderer}]')
    .max(1_000, 'at most 1000 endpoints')
    .default([])
    .describe('the endpoints; more can be added in the console'),
});

const ofService = { tls, limits, shutdown, console: webConsole, webhooks };
const ofEndpoint = Object.fromEntries(
  Object.entries(endpointSchema.shape).flatMap(([key, schema]) => {
    const section = sectionIn(schema);
    return section === undefined ? [] : [[key, section]];
  }),
);

/** Returns the object schema within a schema, also of one variant of several; undefined if there is none. */
function sectionIn(schema: z.core.$ZodType): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema;
  if (schema instanceof z.ZodPipe) return sectionIn(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.map(sectionIn).find((each) => each !== undefined);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return sectionIn(schema.unwrap());
  return undefined;
}

function within<T extends z.ZodObject>(sections: Record<string, T>, key: unknown): T | undefined {
  return typeof key === 'string' && Object.hasOwn(sections, key) ? sections[key] : undefined;
}

export const serviceLayout: Layout = {
  sections: { ...ofService, endpoints: endpointSchema, ...ofEndpoint },
  shapeAt: ([section, , key]) =>
    section === 'endpoints'
      ? (within<z.ZodObject>(ofEndpoint, key) ?? endpointSchema).shape
      : (within<z.ZodObject>(ofService, section) ?? serviceSchema).shape,
};

/** Returns the JSON schema for editors. It accepts all valid files, but does not check rules between endpoints. */
export function serviceJsonSchema(): JsonObject {
  return fileSchema(serviceSchema, 'service.yaml of nightrender');
}

export function serviceSchemaText(): string {
  return `${JSON.stringify(serviceJsonSchema(), null, 2)}\n`;
}

/** Settings of a service with several processes, which share a database and a bucket. */
export interface SharedSettings {
  /** Address of the database, which may contain a password. */
  store: string;
  /** `s3://bucket/folder/` for long texts; undefined if the database holds them. */
  files?: string | undefined;
  peerUrl?: string | undefined;
}

/** Returns problems of the shared settings with each other and with the rest of service.yaml. */
export function sharedProblems(given: unknown): FieldExpectation[] {
  if (!isJsonObject(given)) return [];
  const { store, files, peerUrl, host: listened, tls: served } = given;
  const alone = 'none: it is for several processes, which share a `store`';
  if (store === undefined)
    return Object.entries({ files, peerUrl }).flatMap(([field, value]) =>
      value === undefined ? [] : [{ field, expected: alone }],
    );
  const isAnywhere = listened === '0.0.0.0' || listened === '::';
  return peerUrl === undefined && (isAnywhere || served !== undefined)
    ? [{ field: 'peerUrl', expected: peerExpected }]
    : [];
}
