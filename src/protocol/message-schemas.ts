/** The bodies and answers of the job interface as JSON Schema, the types of their values, and its names and limits. */

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const limitMs = { type: 'integer', minimum: 1 } as const;
const ms = { type: 'integer', minimum: 0, description: 'milliseconds' } as const;
const jobId = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,128}$' } as const;
const status = { $ref: '#/components/schemas/Status' } as const;
const anyJson = { description: 'any JSON value' };

function object<const Properties extends object, const Name extends keyof Properties = keyof Properties>(
  properties: Properties,
  required: readonly Name[] = Object.keys(properties) as Name[],
) {
  return { type: 'object' as const, properties, required };
}

/** Status words of the interface, and those that real services add. */
const jobStatuses = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'] as const;

export const messageSchemas = {
  Status: { enum: [...jobStatuses] },
  Submission: object(
    {
      input: { type: 'object', minProperties: 1, description: 'free-form; what the worker is given' },
      webhook: { type: 'string', format: 'uri', description: 'is sent the job, signed, once it has ended' },
      s3Config: { type: 'object', description: 'is handed to the worker; deleted when the job ends' },
      policy: object(
        {
          executionTimeout: {
            ...limitMs,
            description: 'milliseconds in a worker, after which the job is TIMED_OUT',
          },
          ttl: { ...limitMs, description: 'milliseconds from submission, after which the job is TIMED_OUT' },
          lowPriority: { type: 'boolean' },
        },
        [],
      ),
    },
    ['input'],
  ),
  Accepted: object({ id: jobId, status }),
  Job: object(
    {
      id: jobId,
      status,
      delayTime: { ...ms, description: 'milliseconds in the queue' },
      executionTime: { ...ms, description: 'milliseconds in a worker' },
      input: { type: 'object', description: 'what was submitted, while IN_PROGRESS' },
      output: { ...anyJson, description: 'of the worker; a message of progress while IN_PROGRESS' },
      error: { type: 'string', description: 'the reason, if FAILED or TIMED_OUT' },
      retries: { ...count, description: 'times that the job went back into the queue; absent if never' },
    },
    ['id', 'status'],
  ),
  Stream: object({ status, stream: { type: 'array', items: object({ output: anyJson }) } }),
  Purged: object({ removed: count, status: { const: 'completed' } }),
  Health: object({
    jobs: object({ completed: count, failed: count, inProgress: count, inQueue: count, retried: count }),
    workers: object({
      idle: count,
      initializing: count,
      ready: count,
      running: count,
      throttled: count,
      unhealthy: count,
    }),
  }),
  WebhookSecret: object({ secret: { type: 'string', pattern: '^whsec_[A-Za-z0-9+/]{43}=$' } }),
  Error: object({ error: text }),
  TakenJob: object({ id: jobId, input: { type: 'object' }, webhook: text, s3Config: { type: 'object' } }, [
    'id',
    'input',
  ]),
  TakenJobs: { type: 'array', items: { $ref: '#/components/schemas/TakenJob' } } as const,
  WorkerResult: {
    ...object({ output: anyJson, error: anyJson, status: text, stopPod: { type: 'boolean' } }, []),
    description:
      'the output, or the error that fails the job; with the status IN_PROGRESS a message of progress; stopPod asks for a new start of the worker',
  },
  Heard: object({ accepted: { type: 'boolean', description: 'false if the job has already ended' } }),
  WorkerReport: object(
    {
      machine: object({
        host: text,
        cores: count,
        memoryBytes: count,
        gpus: {
          type: 'array',
          items: object({
            index: count,
            name: text,
            memoryBytes: count,
            usedMemoryBytes: count,
            driver: text,
            celsius: { type: 'number' },
          }),
        },
      }),
      workload: text,
      state: {
        enum: ['working', 'draining', 'leaving'],
        description: 'draining takes no more; leaving gives back what it has',
      },
      log: { type: 'array', items: text, description: 'the lines since the last report' },
      died: { type: ['string', 'null'], description: 'reason for which its workload ended during jobs' },
    },
    ['state'],
  ),
  Reported: object({
    drain: { type: 'boolean' },
    jobs: { type: 'array', items: jobId },
    runs: { type: ['string', 'null'], description: 'such as image:user/name:1.0; null if not reported' },
  }),
  Nothing: { type: 'object', maxProperties: 0 } as const,
  JobsToStop: object({ jobsToStop: { type: 'array', items: jobId } }),
};

export type MessageName = keyof typeof messageSchemas;

/** Type of the value that a schema describes. Optional fields may depend on other fields of the message. */
export type Message<Name extends MessageName> = Fitting<(typeof messageSchemas)[Name]>;

interface Plain {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  null: null;
  object: Record<string, unknown>;
}

type Fitting<Schema> = Schema extends { $ref: `#/components/schemas/${infer Name extends MessageName}` }
  ? Message<Name>
  : Schema extends { enum: readonly (infer Value)[] } | { const: infer Value }
    ? Value
    : Schema extends { items: infer Item }
      ? Fitting<Item>[]
      : Schema extends { properties: infer Properties; required: readonly (infer Required)[] }
        ? { [Key in keyof Properties & Required]: Fitting<Properties[Key]> } & {
            [Key in Exclude<keyof Properties, Required>]?: Fitting<Properties[Key]>;
          }
        : Schema extends { type: infer Type extends keyof Plain | readonly (keyof Plain)[] }
          ? Plain[Type extends readonly (infer Each extends keyof Plain)[] ? Each : Type & keyof Plain]
          : unknown;

export type JobStatus = (typeof jobStatuses)[number];

/** Header in which a client names a submission, so that sending it again makes no second job. */
export const idempotencyKeyHeader = 'Idempotency-Key';

/** Header with the number of seconds for which a service surely recognizes the key of a submission. */
export const idempotencyRetentionHeader = 'Idempotency-Retention';

/** Maximum bytes of a submission's body. Services answer a larger one with 400 and `exceeded max body size`. */
export const maxRequestBytes = 10 * 1024 * 1024;

/** Time in ms after which results are deleted. Of the two documented values, 30 minutes is the safe one. */
export const defaultRetentionMs = 30 * 60 * 1000;
