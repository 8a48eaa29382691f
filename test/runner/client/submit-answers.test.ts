/** What an answer to a submission means: whether there is a job, surely none, or nobody can tell. */
import { describe, expect, it } from 'vitest';
import { answer, answerJson, scriptedServer } from '../../fakes/scripted-server.ts';
import { clientOf, failure, jobId, submitTo } from './client.ts';

const page = '<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>…</body></html>';

it('sends one POST with the key, the input as JSON and no wish for compression', async () => {
  const server = await scriptedServer(answerJson({ id: jobId, status: 'IN_QUEUE' }));
  await clientOf(server.url, { apiKey: 'the-key' }).submit();
  expect(server.requests).toEqual([
    expect.objectContaining({
      method: 'POST',
      path: '/v2/scene-renderer/run',
      body: '{"input":{"scene":"a hill"}}',
    }),
  ]);
  expect(server.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer the-key',
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  });
});

describe('the key of a submission', () => {
  const send = async (headers: Record<string, string>) => {
    const server = await scriptedServer(answer(200, `{"id":"${jobId}","status":"IN_QUEUE"}`, headers));
    const { service } = clientOf(server.url);
    const endpoint = { baseUrl: server.url, id: 'e', version: 'v2' } as const;
    const reply = await service.submit(endpoint, {}, new AbortController().signal, 'night-1');
    expect(server.requests[0]?.headers['idempotency-key']).toBe('night-1');
    return reply;
  };

  it.each<[string, Record<string, string>, object]>([
    ['not echoed', {}, {}],
    ['not echoed, though a time is named', { 'Idempotency-Retention': '60' }, {}],
    ['echoed as another', { 'Idempotency-Key': 'night-2' }, {}],
    ['echoed', { 'Idempotency-Key': 'night-1' }, { idempotencyMs: 1_800_000 }],
    [
      'echoed with a time',
      { 'Idempotency-Key': 'night-1', 'Idempotency-Retention': '60' },
      { idempotencyMs: 60_000 },
    ],
    [
      'echoed with what is no time',
      { 'Idempotency-Key': 'night-1', 'Idempotency-Retention': '1e99' },
      { idempotencyMs: 1_800_000 },
    ],
  ])('%s', async (_, headers, shown) => {
    expect(await send(headers)).toEqual({ kind: 'accepted', jobId, status: 'IN_QUEUE', ...shown });
  });
});

describe('a job is accepted', () => {
  it.each<[string, string, number, string]>([
    ['with 200', `{"id":"${jobId}","status":"IN_QUEUE"}`, 200, 'IN_QUEUE'],
    ['with 201', `{"id":"${jobId}","status":"IN_QUEUE"}`, 201, 'IN_QUEUE'],
    ['with 202', `{"id":"${jobId}","status":"IN_QUEUE"}`, 202, 'IN_QUEUE'],
    ['and in progress at once', `{"id":"${jobId}","status":"IN_PROGRESS"}`, 200, 'IN_PROGRESS'],
    ['without a status', `{"id":"${jobId}"}`, 200, ''],
    ['with a number as status', `{"id":"${jobId}","status":200}`, 200, '200'],
    ['with an object as status', `{"id":"${jobId}","status":{"toString":1}}`, 200, 'an object'],
    [
      'with fields that nobody asked for',
      `{"workerId":"w","id":"${jobId}","status":"IN_QUEUE"}`,
      200,
      'IN_QUEUE',
    ],
    ['behind a byte-order mark', `\uFEFF{"id":"${jobId}","status":"IN_QUEUE"}`, 200, 'IN_QUEUE'],
    ['though its answer was cut behind the id', `{"id": "${jobId}", "sta`, 200, ''],
  ])('%s', async (_, body, status, word) => {
    expect(await submitTo(answer(status, body))).toEqual({ kind: 'accepted', jobId, status: word });
  });

  it.each(['sync-1', 'a_b-C9', 'x'.repeat(128), 'a:b.c/d+e=f~g@h', '../x', '%2e'])(
    'under the id %s',
    async (id) => {
      expect(await submitTo(answerJson({ id, status: 'IN_QUEUE' }))).toMatchObject({
        kind: 'accepted',
        jobId: id,
      });
    },
  );

  it('under an id that is asked for, percent-encoded', async () => {
    const server = await scriptedServer(answerJson({ status: 'IN_QUEUE' }));
    const { service } = clientOf(server.url);
    const endpoint = { baseUrl: server.url, id: 'e', version: 'v2' } as const;
    await service.status({ endpoint, jobId: 'a:b.c/d+e=%2e' }, new AbortController().signal);
    expect(server.requests[0]?.path).toBe('/v2/e/status/a%3Ab.c%2Fd%2Be%3D%252e');
  });

  it('under a number as id, exact beyond 2^53', async () => {
    expect(await submitTo(answer(200, '{"id":17}'))).toMatchObject({ kind: 'accepted', jobId: '17' });
    expect(await submitTo(answer(200, '{"id":9007199254740993}'))).toMatchObject({
      jobId: '9007199254740993',
    });
  });
});

describe('nobody can tell whether there is a job', () => {
  it.each<[string, number, string, RegExp]>([
    ['200 with a page', 200, page, /200 without a job id: an HTML page, "Bad gateway"/],
    ['200 with JSON cut within the id', 200, `{"id":"${jobId.slice(0, 9)}`, /without a job id/],
    ['200 with nothing', 200, '', /an empty body/],
    ['200 with a list', 200, '[]', /without a job id/],
    ['200 with an error in words', 200, '{"error":"please try again"}', /please try again/],
    ['202 without an id', 202, '{}', /202 without a job id/],
    ['204', 204, '', /204 without a job id/],
    ['408', 408, '', /408/],
    ...[500, 502, 503, 504, 520, 521, 522, 523, 524].map((status): [string, number, string, RegExp] => [
      `${status} with a page`,
      status,
      page,
      new RegExp(`answered ${status}: an HTML page, "Bad gateway"`),
    ]),
  ])('%s', async (_, status, body, text) => {
    expect(await submitTo(answer(status, body))).toEqual(failure('unanswered', text));
  });
});

it.each<[string, string, RegExp]>([
  ['too long', `"${'x'.repeat(129)}"`, /unusable id "x+…?/],
  ['with a space', '"job 7"', /unusable id "job 7"/],
  ['that leads elsewhere', '".."', /unusable id "\.\."/],
  ['with a line break', '"a\\r\\nX-Injected: 1"', /unusable id "a\\r\\nX-Injected: 1"/],
  ['that is empty', '""', /unusable id ""/],
  ['that is no whole number', '1.5', /unusable id number/],
  ['that is a list', '["x"]', /unusable id a list of 1/],
  ['that is null', 'null', /unusable id null/],
])('a job is lost under an id %s, as each more would be', async (_, id, text) => {
  const reply = await submitTo(answer(200, `{"id":${id}}`));
  expect(reply).toEqual({ ...failure('unanswered', text), isEachLost: true });
});

describe('there is surely no job', () => {
  it.each<[string, number, string, string, RegExp]>([
    ['400 in words', 400, 'exceeded max body size', 'input-refused', /400.*exceeded max body size/],
    [
      '400 in JSON',
      400,
      '{"error":"the object \\"input\\" is empty"}',
      'input-refused',
      /the object "input" is empty/,
    ],
    ['409', 409, '', 'input-refused', /\(409\): no message/],
    ['413', 413, page, 'input-refused', /413/],
    [
      '422 with a list of details',
      422,
      '{"detail":[{"loc":["body"],"msg":"field required"}]}',
      'input-refused',
      /field required/,
    ],
    ['401 as empty text', 401, '', 'key-refused', /`endpoint\.apiKey` \(401\)/],
    ['401 in JSON', 401, '{"message":"Invalid API key"}', 'key-refused', /Invalid API key/],
    ['403 as a page', 403, page, 'key-refused', /an HTML page/],
    ['402', 402, '{"error":"insufficient credit"}', 'account-unusable', /insufficient credit/],
    ['401 within 200', 200, '{"status":401}', 'key-refused', /401/],
    ['402 within 200', 200, '{"status":402,"message":"no credit"}', 'account-unusable', /no credit/],
    ['404', 404, '{"detail": "endpoint not found"}', 'endpoint-unknown', /404: endpoint not found/],
    ['405', 405, '', 'endpoint-unknown', /405/],
    ['a redirect without an address', 302, '', 'endpoint-unknown', /redirects \(302\) to nowhere;/],
    ['410', 410, '', 'endpoint-unknown', /410/],
    ['425', 425, '', 'overloaded', /425/],
    ['429', 429, '', 'overloaded', /429/],
  ])('%s', async (_, status, body, kind, text) => {
    expect(await submitTo(answer(status, body, { 'Content-Type': 'text/plain' }))).toEqual(
      failure(kind, text),
    );
  });
});

it.each([301, 302, 303, 307, 308])(
  'does not follow a redirect (%i), nor take the key there',
  async (status) => {
    const other = await scriptedServer(answerJson({ id: jobId, status: 'IN_QUEUE' }));
    const server = await scriptedServer(answer(status, '', { Location: `${other.url}/v2/else/run` }));
    const { submit, status: ask } = clientOf(server.url);
    expect(await submit()).toEqual(failure('endpoint-unknown', `(${status}) to ${other.url}/v2/else/run`));
    expect(await ask()).toEqual(failure('poll-failed', `a redirect to ${other.url}/v2/else/run`));
    expect(other.requests).toEqual([]);
  },
);

it.each([301, 302, 303, 307, 308])(
  'follows a redirect (%i) of a GET within its origin, with the key, and never one of a POST',
  async (status) => {
    const job = answerJson({ id: jobId, status: 'IN_QUEUE' });
    const server = await scriptedServer((socket, request) =>
      (request.path.startsWith('/else') ? job : answer(status, '', { Location: `/else${request.path}` }))(
        socket,
        request,
      ),
    );
    const { submit, status: ask } = clientOf(server.url, { apiKey: 'the-key' });
    expect(await ask()).toMatchObject({ kind: 'running', status: 'IN_QUEUE' });
    expect(server.requests.at(-1)?.headers['authorization']).toBe('Bearer the-key');
    expect(await submit()).toEqual(failure('endpoint-unknown', `(${status})`));
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  },
);

it('follows three redirects at most', async () => {
  const server = await scriptedServer((socket, request) =>
    answer(302, '', { Location: `${request.path}x` })(socket, request),
  );
  expect(await clientOf(server.url).status()).toEqual(failure('poll-failed', 'a redirect to'));
  expect(server.requests).toHaveLength(4);
});

it('reads a refusal that comes before the body was taken, and the end of the connection behind it', async () => {
  const server = await scriptedServer(() => undefined, {
    onConnection: (socket) => {
      socket.once('data', () => answer(400, 'exceeded max body size')(socket, { ...noRequest }));
    },
  });
  const { service } = clientOf(server.url);
  const endpoint = { baseUrl: server.url, id: 'e', version: 'v2' } as const;
  const reply = await service.submit(
    endpoint,
    { scene: 'x'.repeat(12_000_000) },
    new AbortController().signal,
  );
  expect(reply).toEqual(failure('input-refused', 'exceeded max body size'));
});

const noRequest = { method: '', path: '', headers: {}, body: '', connection: 1 };
