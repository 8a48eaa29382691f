/** Schema of service.yaml with all keys and defaults, and an example. Messages of the schema say which value is expected. */
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

/**
 * Returns a service.yaml with a working endpoint, whose comments show further keys and workloads. `schema`: path or address of
 * the schema for editors, relative to the file.
 */
export function serviceExample(schema: string): string {
  return `# yaml-language-server: $schema=${schema}
# The endpoints of this service. What is left out has a default; \`nightrender schema service\` has all the keys.
# \`nightrender serve service.yaml\` starts it; endpoints that are made in its console stand beside these.

# Only programs of this machine reach 127.0.0.1. For others: 0.0.0.0, with a key (\`nightrender keys add\`) and a certificate.
host: 127.0.0.1
port: 4747
# Where workers of a cluster find this service.
# publicUrl: https://render.example
# tls: { cert: fullchain.pem, key: privkey.pem }
# Reverse proxies that say truly who their clients are.
# proxies: [127.0.0.1]
# Names by which a proxy or DNS knows this service; under others the console is not answered.
# hosts: [render.example]

# Inputs and results are deleted this long after completion.
retention: 30m

limits:
  # Larger submissions are answered with 400.
  maxBody: 10MiB
  # Submissions to an endpoint where this many wait already are answered with 429.
  maxQueued: 10000
  # A worker in a container or elsewhere that says nothing of its job for so long is taken for dead; another gets the job.
  silence: 1m

# After Ctrl-C or SIGTERM running jobs have this long to end; \`docker stop\` allows 10 s without \`--time\`.
shutdown:
  grace: 30s

# Webhooks to this machine and its network, such as http://192.168.1.5/done, are allowed by default only if nothing above
# leads other machines here. Otherwise everybody who may submit reaches that network through the service.
# webhooks:
#   private: true
#   proxy: http://proxy.example:3128

# Sites whose pages may use the job interface from a browser, with a key; none by default.
# cors: [https://studio.example]

endpoints:
  # Pictures in a moment, without a GPU: for trying a pipeline. Its id, night-renderer, is made of the name.
  - name: Night renderer
    quickDeploy: scene-renderer
    # A label for people: it draws on the processor.
    gpu: 24 GB
    workers: 2
    # Keep the worker running rather than start it when there are jobs.
    quickStart: true
    # Tried again this often where the worker died.
    retries: 2
    # Of a job that brings no bounds of its own: in a worker, and from submission to end.
    executionTimeout: 10m
    ttl: 24h

  # Blender, which has to be installed:
  # - name: Products
  #   quickDeploy: blender

  # A container image, run by docker or podman:
  # - name: Diffusion
  #   image: your-user/diffusion:1.0
  #   # That of docker or podman; host is that of this machine, with all that listens there.
  #   network: default
  #   # Where the container reaches this service.
  #   serviceUrl: http://172.17.0.1:4747
  #   # It keeps none of those that docker or podman gives.
  #   capabilities: []
  #   arguments: [--shm-size=1g]
  #   gpu: { devices: [0, 1] }
  #   memory: 16GB
  #   cpus: 4
  #   environment:
  #     MODEL: stabilityai/stable-diffusion-xl-base-1.0
  #     HF_TOKEN: \${HF_TOKEN}

  # A program that reads jobs as JSON lines and writes results as JSON lines, in this file's folder:
  # - name: My script
  #   command: [python3, worker.py]

  # A JavaScript module that exports \`handler\`:
  # - name: My module
  #   module: ./handler.mjs

  # Boxes with ComfyUI, each of which is one worker; what of a job's input is set in the workflow, exported in API format:
  # - name: ComfyUI
  #   comfyui:
  #     url: [http://box-1:8188, http://box-2:8188]
  #     workflow: flow.json
  #     set: { '6.text': '{{ prompt }}', '3.seed': '{{ seed }}' }

  # Slurm runs the workers, as many as the queue asks for:
  # - name: Cluster
  #   command: [python3, worker.py]
  #   on: { slurm: ['--gres=gpu:1'] }
  #   workers: { min: 0, max: 64, idle: 5m }

  # Workers on other machines ask for the jobs, with a worker key (\`nightrender keys add\`):
  # - name: GPU farm
  #   remote: true
`;
}
