/** Requests that are wrong in any way end in a 4xx, and the service goes on. */
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { jobIdPattern } from '../../src/wire/paths.ts';
import { endpointId, key, openService, statusOnce, submit, type TestService } from './service-harness.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

const text = (maxLength: number) => fc.string({ unit: 'binary', maxLength });
const token = fc.stringMatching(/^[A-Za-z]{1,10}$/);
const goodHead = `Host: x\r\nAuthorization: Bearer ${key}\r\n`;
const framed = (start: string, body: Buffer) =>
  Buffer.concat([Buffer.from(`${start}\r\n${goodHead}Content-Length: ${body.length}\r\n\r\n`), body]);
const runLine = `POST /v2/${endpointId}/run HTTP/1.1`;

/** A good submission's JSON with one character changed, or any JSON or bytes that are none. */
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

it(`answers 4xx to 500 malformed requests (FUZZ_SEED=${seed})`, { timeout: 300_000 }, async () => {
  const service = await openService();
  await fc.assert(
    fc.asyncProperty(badRequest, async (bytes) => {
      const answer = await exchange(service, bytes);
      // Line ends alone, which may stand before a request, are no request and get no answer.
      if (/^[\r\n]*$/.test(bytes.toString('latin1'))) return;
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(Object.keys(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as object)).toEqual([
        'error',
      ]);
    }),
    { numRuns: 500, seed },
  );
  expect(service.troubles).toEqual([]);
  expect(service.held.runs).toEqual([]);
  const id = await submit(service.url, { scene: 'a hill' });
  expect(id).toMatch(jobIdPattern);
  (await service.held.next()).complete('fine');
  await statusOnce(service.url, id, 'COMPLETED');
});

function isGoodBody(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return isObject(value) && isObject(value['input']) && Object.keys(value['input']).length > 0;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sends the bytes and the end of them; returns the first answer. */
function exchange({ url }: TestService, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8'))).on('error', reject);
  });
}
