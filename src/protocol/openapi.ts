/** The OpenAPI 3.1 description of the job interface, generated from the table of operations. */
import {
  idempotencyKeyHeader,
  idempotencyRetentionHeader,
  type MessageName,
  messageSchemas,
} from './message-schemas.ts';
import { operations, type Operation } from './operations.ts';
import { versions } from './paths.ts';

const versionParameter = { name: 'version', in: 'path', required: true, schema: { enum: [...versions] } };

const wait = {
  name: 'wait',
  in: 'query',
  description: 'maximum milliseconds to wait for the end of the job',
  schema: { type: 'integer', minimum: 0 },
};

const idempotencyKey = {
  name: idempotencyKeyHeader,
  in: 'header',
  description:
    'identifies the submission: the same key with the same body returns the same job while that is kept',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
};

function pathId(name: string) {
  return { name, in: 'path', required: true, schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,128}$' } };
}

const responses = {
  400: refused('The request is invalid, or its body exceeds the maximum size.'),
  401: refused('The key is missing, or not valid here.'),
  403: refused('The key is of the other kind: one of a worker, or one of a client.'),
  404: refused('The endpoint does not exist, or the job no longer exists.'),
  405: {
    ...refused('The operation needs another method.'),
    headers: { Allow: { description: 'that method', schema: { type: 'string' } } },
  },
  409: refused('The job is in a state in which this cannot be done.'),
  422: refused('The idempotency key was used for another body.'),
  429: {
    ...refused(
      'Too many requests, too many different wrong keys from one address, or too many jobs wait already.',
    ),
    headers: { 'Retry-After': { description: 'seconds', schema: { type: 'integer', minimum: 0 } } },
  },
  503: refused('The service accepts no jobs until a person fixes it.'),
  507: refused('The disk of the service is full: nothing was done.'),
};

function refused(description: string) {
  return { description, content: json('Error') };
}

/** Statuses of refusals that every operation may answer with. */
const commonRefusals = ['400', '401', '403', '404', '405', '429'];

const answerHeaders = {
  idempotencyKey: {
    [idempotencyKeyHeader]: { description: 'as it was sent', schema: { type: 'string' } },
  },
  retention: {
    [idempotencyRetentionHeader]: {
      description: `minimum seconds for which a submission is recognized by its ${idempotencyKeyHeader}`,
      schema: { type: 'integer', minimum: 0 },
    },
  },
};

const paths: Record<string, Record<string, object>> = Object.fromEntries(
  Object.entries(operations).map(([name, operation]) => {
    const ids = ['version', 'endpointId', ...operation.parts];
    const parts = operation.parts.map((part) => `{${part}}`);
    const methods = Object.entries(operation.methods).map(([method, { id, summary }]) => [
      method.toLowerCase(),
      { operationId: id, summary, ...describe(operation) },
    ]);
    return [
      ['', '{version}', '{endpointId}', name, ...parts].join('/'),
      { parameters: ids.map(parameterRef), ...(Object.fromEntries(methods) as object) },
    ];
  }),
);

function describe(operation: Operation) {
  const { parameters = [], query, body, isForm = false, answer, headers = [], none } = operation;
  const codes = [...commonRefusals, ...(operation.refused ?? [])];
  const isOfWorkers = operation.caller === 'worker';
  return {
    tags: [isOfWorkers ? 'workers' : 'jobs'],
    ...(parameters.length > 0 && { parameters: parameters.map(parameterRef) }),
    ...(body !== undefined && !isForm && { requestBody: { required: true, content: json(body) } }),
    ...(isOfWorkers && { security: [{ workerKey: [] }] }),
    responses: {
      200: {
        description: answer.description,
        ...(headers.length > 0 && {
          headers: Object.assign({}, ...headers.map((name) => answerHeaders[name])) as object,
        }),
        content: json(answer.schema),
      },
      ...Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/responses/${code}` }])),
      ...(none !== undefined && { 204: { description: none } }),
    },
    ...(query !== undefined && {
      parameters: query.map(({ name, ...rest }) => ({ name, in: 'query', ...rest })),
    }),
    ...(body !== undefined && isForm && { requestBody: { required: true, content: formOrJson(body) } }),
  };
}

function parameterRef(name: string) {
  return { $ref: `#/components/parameters/${name}` };
}

/** Workers send JSON under the content type of a form. */
function formOrJson(schema: MessageName) {
  const content = json(schema);
  return { 'application/x-www-form-urlencoded': content['application/json'], ...content };
}

function json(schema: MessageName) {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
}

export const openApi = {
  openapi: '3.1.0',
  info: {
    title: 'nightrender',
    version: '1.0.0',
    description:
      'Jobs that workers on GPUs turn into pictures, and the operations by which workers get them.',
  },
  servers: [{ url: '/', description: 'the service that this description comes from' }],
  security: [{ clientKey: [] }],
  tags: [
    { name: 'jobs', description: 'requests of clients' },
    { name: 'workers', description: 'requests of workers' },
  ],
  paths,
  components: {
    securitySchemes: {
      clientKey: { type: 'http', scheme: 'bearer' },
      workerKey: {
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
        description: 'the key of a worker, with or without `Bearer` in front',
      },
    },
    parameters: {
      version: versionParameter,
      endpointId: pathId('endpointId'),
      jobId: pathId('jobId'),
      workerId: pathId('workerId'),
      wait,
      idempotencyKey,
    },
    responses,
    schemas: messageSchemas,
  },
};
