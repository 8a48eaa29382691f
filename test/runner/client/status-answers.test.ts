/** What an answer to a status request means for the job. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { answer, answerJson, scriptedServer } from '../../fakes/scripted-server.ts';
import { clientOf, ended, failure, jobId, statusFrom } from './client.ts';

const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const page = '<html><head><TITLE>\n 502 Bad Gateway </TITLE></head></html>';

it('sends one GET with the key and no body', async () => {
  const server = await scriptedServer(answerJson({ id: jobId, status: 'IN_QUEUE' }));
  await clientOf(server.url, { apiKey: 'the-key' }).status();
  expect(server.requests).toEqual([
    expect.objectContaining({ method: 'GET', path: `/v2/scene-renderer/status/${jobId}`, body: '' }),
  ]);
  expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer the-key' });
  expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
});

describe('the job is running', () => {
  it.each<[string, string, string, boolean]>([
    ['in the queue', '{"status":"IN_QUEUE"}', 'IN_QUEUE', false],
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
    ['under an unknown word', '{"status":"THROTTLED"}', 'THROTTLED', false],
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

  it('since when, where the service says so', async () => {
    const body = '{"delayTime":3,"input":{},"status":"IN_PROGRESS"}';
    const running = { kind: 'running', status: 'IN_PROGRESS', isExecuting: true };
    expect(await statusFrom(answer(200, body))).toEqual({ ...running, delayTimeMs: 3 });
    const nonsense = '{"delayTime":-3,"status":"IN_PROGRESS"}';
    expect(await statusFrom(answer(200, nonsense))).toEqual(running);
  });

  it('where kin of the service answer 202 without a word', async () => {
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
  ])('without its times where they are %s', async (_, time) => {
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
    ['without output', {}, 'no-output', /without output/],
    ['with null', { output: null }, 'no-output', /without output/],
    [
      'with an empty list',
      { output: [] },
      'no-output',
      /without output; what it handed in is an empty list$/,
    ],
    [
      'with words',
      { output: { message: 'prompt is required' } },
      'failed-inside',
      /^the worker says: prompt is required$/,
    ],
    [
      'with a refusal',
      { output: { message: 'NSFW content detected' } },
      'content-refused',
      /^the worker says: NSFW content/,
    ],
    [
      'with a failure inside',
      { output: { status: 'error', message: 'CUDA out of memory' } },
      'failed-inside',
      /CUDA out of memory/,
    ],
    [
      'with a failure in a list',
      { output: [{ code: 400, message: 'bad scene' }] },
      'failed-inside',
      /bad scene/,
    ],
  ])('%s', async (_, fields, kind, text) => {
    const reply = await statusFrom(answerJson({ status: 'COMPLETED', executionTime: 7, ...fields }));
    expect(reply).toEqual({ ...ended(kind, text), status: 'COMPLETED', executionTimeMs: 7 });
  });

  it('with something unknown, by which the very same is known when it comes again', async () => {
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
    ['text', { error: 'CUDA error: illegal access' }, /^FAILED: CUDA error: illegal access$/],
    [
      'JSON in text',
      { error: '{"error_type":"<class \'X\'>","error_message":"no such scene"}' },
      /^FAILED: X: no such scene$/,
    ],
    ['a list', { error: [null, 'first', 'second'] }, /^FAILED: first; second$/],
    ['an object', { error: { code: 3, message: 'no such model' } }, /^FAILED: no such model \(code 3\)$/],
    [
      'a time-out of the platform',
      { error: 'job timed out after 1 retries' },
      /job timed out after 1 retries/,
    ],
    ['in the output', { output: { error: 'in the output' } }, /^FAILED: in the output$/],
    ['empty', { error: '' }, /gave no reason/],
    ['control characters and lines', { error: 'a\u001b[31m\n\tb\u0000' }, /^FAILED: a \[31m b$/],
  ])('as FAILED, the error being %s', async (_, fields, text) => {
    const reply = await statusFrom(answerJson({ status: 'FAILED', delayTime: 1, ...fields }));
    expect(reply).toEqual({ ...ended('job-failed', text), status: 'FAILED', delayTimeMs: 1 });
  });

  it.each([
    ['CANCELLED', 'job-cancelled'],
    ['TIMED_OUT', 'job-timed-out'],
  ])('as %s', async (status, kind) => {
    expect(await statusFrom(answerJson({ status }))).toMatchObject({
      kind: 'ended',
      status,
      failure: { kind },
    });
  });
});

it('is not tried again where a failed job was refused for its content', async () => {
  const reply = await statusFrom(answerJson({ status: 'FAILED', error: 'Request Moderated' }));
  expect(reply).toEqual({ ...ended('content-refused', /^FAILED: Request Moderated$/), status: 'FAILED' });
});

describe('a status word that is not known', () => {
  const finished = { status: 'SUCCEEDED', output: [{ rendered_image: picture }] };

  it.each<[string, object, RegExp]>([
    [
      'an output',
      finished,
      /"SUCCEEDED".* hands in an output; .*`endpoint\.statuses: \{ "SUCCEEDED": done \}`/,
    ],
    ['an error', { status: 'ERROR', error: 'no GPU' }, /an error \("no GPU"\); .*\{ "ERROR": failed \}/],
  ])('is no reason to wait where there is %s', async (_, job, text) => {
    const told: string[] = [];
    const reply = await statusFrom(answerJson(job), { onUnknownStatus: (word) => told.push(word) });
    expect(reply).toMatchObject(ended('status-unknown', text));
    expect(told).toEqual([(job as { status: string }).status]);
  });

  it.each([{}, { output: null, error: '' }, { output: [] }])(
    'is said, and waited for, with %j',
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

it('tells where the only picture of an output was, also in a large answer', async () => {
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

it('leads nowhere but in a redirect', async () => {
  const reply = await statusFrom(answer(500, 'no room', { Location: 'https://else.example/' }));
  expect(reply).toEqual(failure('poll-failed', /answered 500: no room$/));
});

it.each(['IN_PROGRESS', 'COMPLETED', 'FAILED'])(
  'says nothing where it is that of another job (%s), whose picture would be a wrong one',
  async (status) => {
    const other = { id: 'another-job', status, output: [{ rendered_image: picture }] };
    const reply = { ...failure('poll-failed', 'job another-job'), isForeign: true };
    expect(await statusFrom(answerJson(other))).toEqual(reply);
  },
);

it.each(['', null, 7.5, ['j'], { id: jobId }, 'no id at all'])(
  'counts though what stands in the place of the id is none (%j)',
  async (id) => {
    const reply = await statusFrom(answerJson({ id, status: 'IN_QUEUE' }));
    expect(reply).toMatchObject({ kind: 'running', status: 'IN_QUEUE' });
  },
);

it('may name the job in digits without quotes', async () => {
  const server = await scriptedServer(answer(200, '{"id":12345678901234567890,"status":"IN_QUEUE"}'));
  const reply = await clientOf(server.url).status(undefined, '12345678901234567890');
  expect(reply).toMatchObject({ kind: 'running' });
});

describe('the service does not know the job', () => {
  it.each<[number, string, RegExp]>([
    [404, '{"error":"job not found"}', /404: job not found/],
    [404, page, /an HTML page, "502 Bad Gateway"/],
    [404, '', /no message/],
    [410, '', /410/],
  ])('%i %s', async (status, body, text) => {
    expect(await statusFrom(answer(status, body))).toEqual({
      kind: 'missing',
      text: expect.stringMatching(text) as string,
    });
  });
});

describe('the answer says nothing of the job', () => {
  it.each<[string, number, string, string, RegExp]>([
    ['200 with a page', 200, page, 'poll-failed', /200: an HTML page, "502 Bad Gateway"/],
    ['200 with cut JSON', 200, '{"status":"COMPL', 'poll-failed', /200/],
    ['200 without a status', 200, '{"error":"odd"}', 'poll-failed', /200: odd/],
    ['200 with an object as status', 200, '{"status":{"toJSON":1}}', 'poll-failed', /200/],
    ['200 with a list', 200, '[{"status":"COMPLETED"}]', 'poll-failed', /200/],
    ['204', 204, '', 'poll-failed', /204: an empty body/],
    ['a redirect to nowhere', 302, '', 'poll-failed', /302: an empty body/],
    ['400', 400, '{"error":"bad request"}', 'poll-failed', /400: bad request/],
    ['408', 408, '', 'poll-failed', /408/],
    ['a status in the body of a 502', 502, '{"status":"FAILED"}', 'poll-failed', /502/],
    ...[500, 502, 503, 504, 520, 521, 522, 523, 524].map(
      (status): [string, number, string, string, RegExp] => [
        `${status} with a page`,
        status,
        page,
        'poll-failed',
        new RegExp(`${status}: an HTML page`),
      ],
    ),
    ['401', 401, '', 'key-refused', /401/],
    ['402', 402, '', 'account-unusable', /402/],
    ['403', 403, page, 'key-refused', /403/],
    ['425', 425, '', 'overloaded', /425/],
    ['429', 429, '', 'overloaded', /429/],
  ])('%s', async (_, status, body, kind, text) => {
    expect(await statusFrom(answer(status, body))).toEqual(failure(kind, text));
  });
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
