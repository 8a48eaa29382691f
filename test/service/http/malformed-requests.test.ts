/** Promise: every malformed request is answered with 4xx, and the service continues. */
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type OperationName, operations } from '../../../src/protocol/operations.ts';
import { jobIdPattern } from '../../../src/protocol/paths.ts';
import { addKey } from '../pull-harness.ts';
import { endpointId, key, openService, statusOnce, submit, type TestService } from '../service-harness.ts';
import { firstTier, runs } from '../../fakes/tier.ts';

const text = (maxLength: number) => fc.string({ unit: 'binary', maxLength });
const token = fc.stringMatching(/^[A-Za-z]{1,10}$/);
const goodHead = `Host: x\r\nAuthorization: Bearer ${key}\r\n`;
const framed = (start: string, body: Buffer) =>
  Buffer.concat([Buffer.from(`${start}\r\n${goodHead}Content-Length: ${body.length}\r\n\r\n`), body]);
const runLine = `POST /v2/${endpointId}/run HTTP/1.1`;

/**
 * Random bodies: valid submissions with one byte changed, any JSON, and bytes that are not JSON. Valid ones
 * are filtered out later.
 */
const badBody = fc.oneof(
  text(200)
    .filter((body) => !isGoodBody(Buffer.from(body)))
    .map((body) => Buffer.from(body)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
  fc
    .jsonValue()
    .filter((value) => !isObject(value))
    .map((input) => Buffer.from(JSON.stringify({ input }))),
  fc
    .record({ at: fc.nat(27), byte: fc.nat(255) })
    .map(({ at, byte }) => Buffer.from('{"input":{"scene":"a hill"}}').fill(byte, at, at + 1)),
);

const badRequest: fc.Arbitrary<Buffer> = fc.oneof(
  badBody.filter((body) => !isGoodBody(body)).map((body) => framed(runLine, body)),
  fc
    .tuple(token, fc.webPath(), badBody)
    .map(([method, path, body]) => framed(`${method.toUpperCase()} ${path || '/'} HTTP/1.1`, body)),
  fc
    .tuple(fc.constantFrom('v1', 'v2', 'v3'), fc.webSegment(), fc.webSegment())
    .map((segments) => framed(`GET /${segments.join('/status/')} HTTP/1.1`, Buffer.alloc(0))),
  fc.webSegment().map((id) => framed(`GET /v2/${endpointId}/status/${id} HTTP/1.1`, Buffer.alloc(0))),
  text(300).map((head) => Buffer.from(`${runLine}\r\n${goodHead}${head}\r\n\r\n`)),
  fc
    .uint8Array({ minLength: 1, maxLength: 400 })
    .map((bytes) => Buffer.concat([Buffer.from(bytes), Buffer.from('\r\n\r\n')])),
  fc
    .tuple(text(20), badBody)
    .map(([size, body]) =>
      Buffer.concat([
        Buffer.from(`${runLine}\r\n${goodHead}Transfer-Encoding: chunked\r\n\r\n${size}\r\n`),
        body,
      ]),
    ),
);

/** Placeholders for keys, because the worker key exists only once a service runs. */
const placeholders = { client: '<client>', worker: '<worker>' };

/** Random requests for an operation with exactly one mistake. */
const badOperation: fc.Arbitrary<Buffer> = fc
  .record({
    operation: fc.constantFrom(...(Object.keys(operations) as OperationName[])),
    version: fc.constantFrom('v1', 'v2'),
    mistake: fc.constantFrom('method', 'kind', 'endpoint', 'more', 'less', 'ids', 'body', 'key'),
    id: fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/),
      fc.constantFrom('', '%00', 'x'.repeat(129), '..'),
    ),
    noId: fc.oneof(
      fc.webSegment().filter((id) => !/^[\w.:%-]*$/.test(id)),
      fc.constantFrom('', '%00', '%', 'x'.repeat(129), '@', '{}'),
    ),
    query: fc.webQueryParameters(),
    method: fc.constantFrom('PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'),
    body: badBody.filter((body) => !isGoodBody(body) && !isGoodResult(body)),
  })
  .map(({ operation, version, mistake, id, noId, query, method, body }) => {
    const { caller, methods, parts } = operations[operation];
    const [own] = Object.keys(methods);
    const isOfWorkers = caller === 'worker';
    const other = isOfWorkers ? placeholders.client : placeholders.worker;
    const right = isOfWorkers ? placeholders.worker : placeholders.client;
    const used = mistake === 'kind' ? other : mistake === 'key' ? `${right}x` : right;
    const isBodiless = own === 'GET' || operation === 'purge-queue';
    const ids = parts.map((part) => (mistake === 'ids' || (isBodiless && part === 'workerId') ? noId : id));
    if (mistake === 'more') ids.push('more');
    if (mistake === 'less' || (parts.length === 0 && isBodiless && mistake !== 'method')) ids.push('', '');
    const endpoint = mistake === 'endpoint' ? noId : endpointId;
    const path = `/${version}/${endpoint}/${[operation, ...ids].join('/')}`;
    const line = `${mistake === 'method' ? method : own} ${path}?${query} HTTP/1.1`;
    const head = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${used}\r\nContent-Length: ${body.length}\r\n\r\n`;
    return Buffer.concat([Buffer.from(`${line}\r\n${head}`), body]);
  });

it('malformed requests are answered with 4xx', { timeout: 300_000 }, async () => {
  const service = await openService();
  const workerKey = addKey(service.dataDir, 'worker');
  await fc.assert(
    fc.asyncProperty(fc.oneof(badOperation, badRequest), async (request) => {
      const sent = request.toString('latin1').replace('<client>', key).replace('<worker>', workerKey);
      const bytes = Buffer.from(sent, 'latin1');
      const answer = await exchange(service, bytes);
      // Line breaks alone may precede a request. They are not a request and get no answer.
      if (/^[\r\n]*$/.test(bytes.toString('latin1'))) return;
      expect(answer, sent).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(Object.keys(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as object)).toEqual([
        'error',
      ]);
    }),
    { numRuns: runs(1_000, { ms: 5 }) },
  );
  expect(service.troubles).toEqual([]);
  expect(service.held.runs).toEqual([]);
  const id = await submit(service.url, { scene: 'a hill' });
  expect(id).toMatch(jobIdPattern);
  (await service.held.next()).complete('fine');
  await statusOnce(service.url, id, 'COMPLETED');
});

firstTier.it('a complete request is answered, whatever follows it on its connection', async () => {
  const service = await openService();
  const request = `GET /v2/${endpointId}/health HTTP/1.1\r\n${goodHead}\r\n`;
  const answer = await exchange(service, Buffer.from(`${request}\0\r\n\r\n`));
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(answer.endsWith('}')).toBe(true);
});

function isGoodBody(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return isObject(value) && isObject(value['input']) && Object.keys(value['input']).length > 0;
  } catch {
    return false;
  }
}

function isGoodResult(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return isObject(value) && ('output' in value || 'error' in value);
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Sends the bytes and returns the first answer. Ends the connection unless the request asks the service to
 * close it.
 */
function exchange({ url }: TestService, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => {
      // If the client ends the connection before a complete request is answered, the service assumes that the
      // client has gone.
      if (bytes.includes('Connection: close')) socket.write(bytes);
      else socket.end(bytes);
    });
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8'))).on('error', reject);
  });
}

firstTier.it.each(['Host: localhost\r\nHost: evil.example', 'Host: evil.example\r\nhOST: localhost'])(
  'a request that names two hosts is refused: %j',
  async (hosts) => {
    const { url } = await openService();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    // The second request on the connection gets no answer.
    socket.end(`GET /openapi.json HTTP/1.1\r\n${hosts}\r\n\r\nGET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`);
    const answer = await readText(socket);
    expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 400']);
    expect(answer).toContain('{"error":"the request has more than one Host header"}');
  },
);
