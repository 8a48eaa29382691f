/**
 * Promise: answers of the job service are read correctly: ids, echoed keys, status words in any spelling,
 * times, seeds, outputs and errors.
 */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { answer, answerJson, scriptedServer } from '../../fakes/scripted-server.ts';
import { clientOf, ended, failure, jobId, statusFrom, submitTo } from './client.ts';

const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

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

it('sends one GET with the key and no body', async () => {
  const server = await scriptedServer(answerJson({ id: jobId, status: 'IN_QUEUE' }));
  await clientOf(server.url, { apiKey: 'the-key' }).status();
  expect(server.requests).toEqual([
    expect.objectContaining({ method: 'GET', path: `/v2/scene-renderer/status/${jobId}`, body: '' }),
  ]);
  expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer the-key' });
  expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
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

  it('under a requested id, percent-encoded', async () => {
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

it.each<[string, string, RegExp]>([
  ['too long', `"${'x'.repeat(129)}"`, /unusable id "x+…?/],
  ['that leads elsewhere', '".."', /unusable id "\.\."/],
  ['with a line break', '"a\\r\\nX-Injected: 1"', /unusable id "a\\r\\nX-Injected: 1"/],
  ['that is empty', '""', /unusable id ""/],
  ['that is no whole number', '1.5', /unusable id number/],
  ['that is a list', '["x"]', /unusable id a list of 1/],
  ['that is null', 'null', /unusable id null/],
])(
  'a job with an id %s counts as lost, and stops the run, because every other job would be lost too',
  async (_, id, text) => {
    const reply = await submitTo(answer(200, `{"id":${id}}`));
    expect(reply).toEqual({ ...failure('unanswered', text), isEachLost: true });
  },
);

it('follows three redirects at most', async () => {
  const server = await scriptedServer((socket, request) =>
    answer(302, '', { Location: `${request.path}x` })(socket, request),
  );
  expect(await clientOf(server.url).status()).toEqual(failure('poll-failed', 'a redirect to'));
  expect(server.requests).toHaveLength(4);
});

describe('the job is running', () => {
  it.each<[string, string, string, boolean]>([
    ['in progress', '{"status":"IN_PROGRESS","delayTime":3,"input":{"scene":"a"}}', 'IN_PROGRESS', true],
    ['RUNNING, as some documents have it', '{"status":"RUNNING"}', 'RUNNING', true],
    [
      'with output already',
      `{"status":"IN_PROGRESS","output":[{"rendered_image":"${picture}"}]}`,
      'IN_PROGRESS',
      true,
    ],
    [
      'with a failure as progress',
      '{"status":"IN_PROGRESS","output":{"status":"error"}}',
      'IN_PROGRESS',
      true,
    ],
    ['in progress in lower case', '{"status":"in progress"}', 'in progress', true],
    ['under a word that objects inherit', '{"status":"constructor"}', 'constructor', false],
    ['under another such word', '{"status":"__proto__"}', '__proto__', false],
    ['under a number', '{"status":200}', '200', false],
    ['under a number beyond 2^53', '{"status":9007199254740993}', '9007199254740993', false],
    ['under null', '{"status":null}', 'null', false],
    ['under a word with control characters', '{"status":"A\\u001b[2J\\nB"}', 'A [2J B', false],
    ['under white space', '{"status":" \\n"}', '', false],
    ['under a word of any length', JSON.stringify({ status: 'x'.repeat(1e6) }), `${'x'.repeat(63)}…`, false],
  ])('%s', async (_, body, status, isExecuting) => {
    expect(await statusFrom(answer(200, body))).toMatchObject({ kind: 'running', status, isExecuting });
  });

  it('since when, if the service says so', async () => {
    const body = '{"delayTime":3,"input":{},"status":"IN_PROGRESS"}';
    const running = { kind: 'running', status: 'IN_PROGRESS', isExecuting: true };
    expect(await statusFrom(answer(200, body))).toEqual({ ...running, delayTimeMs: 3 });
    const nonsense = '{"delayTime":-3,"status":"IN_PROGRESS"}';
    expect(await statusFrom(answer(200, nonsense))).toEqual(running);
  });

  it('if a similar service answers 202 without a body', async () => {
    expect(await statusFrom(answer(202, ''))).toEqual({ kind: 'running', status: '202', isExecuting: false });
  });
});

describe('the job has completed', () => {
  it.each([200, 201, 202, 206])('with its pictures, seed and times (%i)', async (status) => {
    const body = `{"delayTime":${' '.repeat(20)}2188,"executionTime":2297.40000000000009,"id":"${jobId}","output":[{"rendered_image":"${picture}","seed":12345678901234567890}],"status":"COMPLETED","workerId":"w","retries":1}`;
    expect(await statusFrom(answer(status, body))).toEqual({
      kind: 'completed',
      status: 'COMPLETED',
      pictures: [{ base64: picture, seed: '12345678901234567890' }],
      delayTimeMs: 2188,
      executionTimeMs: 2297,
    });
  });

  it.each(['9007199254740993', '-9007199254740993', '18446744073709551615', '42', '0'])(
    'with the seed %s exactly, and texts full of quotes and digits as they are',
    async (seed) => {
      const note = String.raw`\\\" : 9007199254740993, \\`;
      const url = `https://cdn.example/${'9'.repeat(20)}.png`;
      const body = `{"status":"COMPLETED","note":"${note}","output":[{"image":"${url}", "seed" : ${seed} }]}`;
      expect(await statusFrom(answer(200, body))).toMatchObject({ pictures: [{ url, seed }] });
    },
  );

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['negative', -1],
    ['text', '2188'],
    ['false', false],
    ['a list', [1]],
    ['longer than any job takes', 9.1e18],
    ['more than any column holds', 1e308],
  ])('without its times if they are %s', async (_, time) => {
    const job = {
      status: 'COMPLETED',
      output: [{ rendered_image: picture }],
      delayTime: time,
      executionTime: time,
    };
    expect(await statusFrom(answerJson(job))).toEqual({
      kind: 'completed',
      status: 'COMPLETED',
      pictures: [{ base64: picture }],
    });
  });

  it.each(['completed', 'Completed', ' COMPLETED \n'])('under the word %j, which is kept', async (status) => {
    expect(await statusFrom(answerJson({ status, output: [{ rendered_image: picture }] }))).toEqual({
      kind: 'completed',
      status: status.trim(),
      pictures: [{ base64: picture }],
    });
  });

  it.each(['failed', 'Timed_Out', 'cancelled'])('as %s', async (status) => {
    expect(await statusFrom(answerJson({ status }))).toMatchObject({ kind: 'ended', status });
  });

  it('with a status within the body', async () => {
    expect(await statusFrom(answerJson({ status: 404 }))).toMatchObject({ kind: 'missing' });
    expect(await statusFrom(answerJson({ status: 401 }))).toEqual(failure('key-refused'));
    expect(await statusFrom(answerJson({ status: 503 }))).toEqual(failure('poll-failed', /503/));
  });

  it('with the picture at the place that the user names', async () => {
    const job = { status: 'COMPLETED', output: { a: [{ b: picture }] } };
    expect(await statusFrom(answerJson(job), { image: 'a[0].b' })).toMatchObject({
      pictures: [{ base64: picture }],
    });
  });
});

describe('the job has ended without a picture', () => {
  it.each<[string, object, string, RegExp]>([
    ['with an empty list', { output: [] }, 'no-output', /without output; its output is an empty list$/],
    [
      'with words',
      { output: { message: 'prompt is required' } },
      'failed-inside',
      /^the worker says: prompt is required$/,
    ],
  ])('%s', async (_, fields, kind, text) => {
    const reply = await statusFrom(answerJson({ status: 'COMPLETED', executionTime: 7, ...fields }));
    expect(reply).toEqual({ ...ended(kind, text), status: 'COMPLETED', executionTimeMs: 7 });
  });

  it('with unknown content, whose digest shows if the same content comes again', async () => {
    const digestOf = async (output: object): Promise<unknown> => {
      const reply = await statusFrom(answerJson({ status: 'COMPLETED', output }));
      expect(reply).toMatchObject(ended('picture-not-found', /"depth".*output\.image/));
      return reply.kind === 'ended' ? reply.failure.digest : undefined;
    };
    const digest = await digestOf({ depth: 3 });
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await digestOf({ depth: 3 })).toBe(digest);
    expect(await digestOf({ depth: 4 })).not.toBe(digest);
  });

  it.each<[string, object, RegExp]>([
    ['in the output', { output: { error: 'in the output' } }, /^FAILED: in the output$/],
    ['empty', { error: '' }, /gave no reason/],
    ['control characters and lines', { error: 'a\u001b[31m\n\tb\u0000' }, /^FAILED: a \[31m b$/],
  ])('as FAILED, the error being %s', async (_, fields, text) => {
    const reply = await statusFrom(answerJson({ status: 'FAILED', delayTime: 1, ...fields }));
    expect(reply).toEqual({ ...ended('job-failed', text), status: 'FAILED', delayTimeMs: 1 });
  });
});

describe('a status word that is not known', () => {
  const finished = { status: 'SUCCEEDED', output: [{ rendered_image: picture }] };

  it.each([{}, { output: null, error: '' }, { output: [] }])(
    'is reported, and the job is waited for: %j',
    async (fields) => {
      const told: string[] = [];
      const onUnknownStatus = (word: string): void => void told.push(word);
      const reply = await statusFrom(answerJson({ status: 'CANCELED', ...fields }), { onUnknownStatus });
      expect(reply).toMatchObject({ kind: 'running', status: 'CANCELED' });
      for (const body of ['{"status":"IN_QUEUE"}', '{"status":"in progress"}', '{"status":" "}'])
        await statusFrom(answer(200, body), { onUnknownStatus });
      await statusFrom(answer(202, ''), { onUnknownStatus });
      expect(told).toEqual(['CANCELED']);
    },
  );

  it('means what `endpoint.statuses` says', async () => {
    const statuses = { succeeded: 'done', ERROR: 'failed', Processing: 'running' } as const;
    const told: string[] = [];
    const options = { statuses, onUnknownStatus: (word: string) => void told.push(word) };
    const reply = await statusFrom(answerJson(finished), options);
    expect(reply).toMatchObject({ kind: 'completed', status: 'SUCCEEDED', pictures: [{ base64: picture }] });
    expect(await statusFrom(answerJson({ status: 'ERROR', error: 'no GPU' }), options)).toMatchObject(
      ended('job-failed', /^ERROR: no GPU$/),
    );
    expect(await statusFrom(answerJson({ status: 'PROCESSING', output: 'step 3' }), options)).toMatchObject({
      kind: 'running',
      isExecuting: true,
    });
    expect(told).toEqual([]);
  });
});

it('reports where the only picture of an output was, also in a large answer', async () => {
  const large = Buffer.concat([Buffer.from(picture, 'base64'), Buffer.alloc(300_000, 7)]).toString('base64');
  for (const text of [picture, large]) {
    const places: string[] = [];
    const reply = await statusFrom(answerJson({ status: 'COMPLETED', output: { image_base64: text } }), {
      onFoundAt: (path) => places.push(path),
    });
    expect(reply).toMatchObject({ kind: 'completed', pictures: [{ output: { at: 'image_base64' } }] });
    expect(places).toEqual(['image_base64']);
  }
});

it('a Location header is followed only in a redirect', async () => {
  const reply = await statusFrom(answer(500, 'no room', { Location: 'https://else.example/' }));
  expect(reply).toEqual(failure('poll-failed', /answered 500: no room$/));
});

it.each(['', null, 7.5, ['j'], { id: jobId }, 'no id at all'])(
  'the status in an answer counts although the id in it is invalid (%j)',
  async (id) => {
    const reply = await statusFrom(answerJson({ id, status: 'IN_QUEUE' }));
    expect(reply).toMatchObject({ kind: 'running', status: 'IN_QUEUE' });
  },
);

it('an answer may name the job in digits without quotes', async () => {
  const server = await scriptedServer(answer(200, '{"id":12345678901234567890,"status":"IN_QUEUE"}'));
  const reply = await clientOf(server.url).status(undefined, '12345678901234567890');
  expect(reply).toMatchObject({ kind: 'running' });
});

it.each<[string, object, object, true | undefined]>([
  ['an address', { status: 'COMPLETED', output: { link: 'https://cdn.example.com/a' } }, {}, true],
  [
    'an address at another place',
    { status: 'COMPLETED', output: { link: 'https://a.b/a.png' } },
    { image: 'image' },
    true,
  ],
  ['an address under an unknown word', { status: 'PAUSED', output: 'https://a.b/a.png' }, {}, true],
  ['none', { status: 'COMPLETED', output: { text: 'x'.repeat(2_000) } }, {}, undefined],
])(
  'says of an output without a known picture whether it is by address: %s',
  async (_, body, places, isByAddress) => {
    const server = await scriptedServer(answerJson(body));
    const reply = await clientOf(server.url, places).status();
    expect(reply).toMatchObject({ kind: 'ended' });
    expect((reply as { failure: { isByAddress?: true } }).failure.isByAddress).toBe(isByAddress);
  },
);

it('keeps the answer that redirects within the origin lead to', async () => {
  const server = await scriptedServer((socket, request) => {
    const isThere = request.path.endsWith('/elsewhere');
    const location = { location: `${request.path}/elsewhere` };
    (isThere ? answerJson({ status: 'COMPLETED' }) : answer(307, '', location))(socket, request);
  });
  const { service } = clientOf(server.url);
  const endpoint = { baseUrl: server.url, id: 'scene-renderer', version: 'v2' };
  const chunks: Uint8Array[] = [];
  const signal = new AbortController().signal;
  expect(
    await service.copyResult({ endpoint, jobId }, async (chunk) => void chunks.push(chunk), signal),
  ).toBe(true);
  expect(Buffer.concat(chunks).toString()).toBe('{"status":"COMPLETED"}');
});

it.each<[string, (text: string) => Buffer, boolean]>([
  ['gzip', gzipSync, true],
  ['deflate', deflateSync, true],
  ['br', brotliCompressSync, true],
  ['gzip', (text) => gzipSync(text).subarray(0, -12), false],
  ['zstd', (text) => Buffer.from(text), false],
])('keeps an answer that a proxy has packed (%s)', async (encoding, pack, isKept) => {
  const text = JSON.stringify({ status: 'COMPLETED', output: 'x'.repeat(5_000) });
  const server = await scriptedServer(answer(200, pack(text), { 'Content-Encoding': encoding }));
  const { service } = clientOf(server.url);
  const endpoint = { baseUrl: server.url, id: 'scene-renderer', version: 'v2' };
  const chunks: Uint8Array[] = [];
  const signal = new AbortController().signal;
  const write = async (chunk: Uint8Array): Promise<void> => void chunks.push(chunk);
  expect(await service.copyResult({ endpoint, jobId }, write, signal)).toBe(isKept);
  if (isKept) expect(Buffer.concat(chunks).toString()).toBe(text);
});
