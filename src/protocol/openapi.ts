/** The OpenAPI 3.1 description of the job interface, of its clients' operations and its workers'. */
import { idempotencyKeyHeader } from './messages.ts';
import { json, paths } from './openapi-paths.ts';
import { openApiSchemas } from './openapi-schemas.ts';
import { versions } from './paths.ts';

const versionParameter = { name: 'version', in: 'path', required: true, schema: { enum: [...versions] } };

const wait = {
  name: 'wait',
  in: 'query',
  description: 'milliseconds to wait for the end of the job at most',
  schema: { type: 'integer', minimum: 0 },
};

const idempotencyKey = {
  name: idempotencyKeyHeader,
  in: 'header',
  description:
    'names the submission: sent again with the same body while its job is kept, it is answered with that job',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
};

function pathId(name: string) {
  return { name, in: 'path', required: true, schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,128}$' } };
}

const responses = {
  400: refused('The request is not as it should be, or its body exceeds the maximum size.'),
  401: refused('No key, or one that is not good here.'),
  403: refused('The key is of the other kind: one of a worker, or one of a client.'),
  404: refused('There is no such endpoint, or no such job any more.'),
  405: {
    ...refused('The operation is asked for by another method.'),
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

export const openApi = {
  openapi: '3.1.0',
  info: {
    title: 'nightrender',
    // Of this description.
    version: '1.0.0',
    description:
      'Jobs that workers on GPUs turn into pictures, and the operations by which workers get them.',
  },
  servers: [{ url: '/', description: 'the service that this description comes from' }],
  security: [{ clientKey: [] }],
  tags: [
    { name: 'jobs', description: 'what clients ask' },
    { name: 'workers', description: 'what workers ask' },
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
    schemas: openApiSchemas,
  },
};
