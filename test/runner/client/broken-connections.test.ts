/** Promise: a submission that was sent and got no answer counts as possibly running and billed. */
import { describe, expect, it } from 'vitest';
import {
  answer,
  answerJson,
  headOf,
  inTurn,
  scriptedServer,
  type Script,
} from '../../fakes/scripted-server.ts';
import { clientOf, failure, jobId, statusFrom, submitTo } from './client.ts';

const accepted = { kind: 'accepted', jobId, status: 'IN_QUEUE' };
const queued = { kind: 'running', status: 'IN_QUEUE', isExecuting: false };
const inQueue = answerJson({ id: jobId, status: 'IN_QUEUE' });

async function bothAreLost(script: Script, text: RegExp, requestTimeoutMs = 1_000): Promise<void> {
  const [submission, status] = [
    submitTo(script, { requestTimeoutMs }),
    statusFrom(script, { requestTimeoutMs }),
  ];
  expect(await submission).toEqual(failure('unanswered', text));
  expect(await status).toEqual(failure('poll-failed', text));
}

const oneLine = /^[^\n]*the response is not HTTP[^\n]*$/;
const head = headOf(200, { 'Content-Length': '100' });
const chunked = headOf(200, { 'Transfer-Encoding': 'chunked' });

describe('no answer is read', () => {
  it.each<[string, Script, RegExp, number?]>([
    ['the connection is reset', (socket) => socket.resetAndDestroy(), /reset|closed/],
    ['the connection is closed', (socket) => socket.end(), /closed before the answer/],
    ['it is closed within the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nConte'), /closed before/],
    ['it is closed within the body', (socket) => socket.end(`${head}{"a":`), /closed before|shorter/],
    ['it is reset within the body', resetAfter(`${head}{"a":`), /reset|closed/],
    ['it is closed within a chunk', (socket) => socket.end(`${chunked}64\r\n{"a":`), /closed before/],
    ['it is closed between chunks', (socket) => socket.end(`${chunked}5\r\n{"a":\r\n`), /closed before/],
    ['the response is not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'), /not HTTP/],
    ['its status is none of HTTP', (socket) => socket.end('HTTP/1.1 099 Odd\r\n\r\n'), oneLine],
    ['its status has no digits', (socket) => socket.end('HTTP/1.1 fine\r\n\r\n'), oneLine],
    ['the answer has headers without end', (socket) => socket.write(endlessHeaders), /headers .* too large/],
    ['the answer goes over to another protocol', (socket) => socket.write(upgrade), /closed before/],
    ['no answer comes', () => undefined, /no answer came in time/, 300],
    ['only headers come', (socket) => socket.write(head), /stopped coming|not complete/, 300],
    ['the body stops coming', (socket) => socket.write(`${head}{"a":`), /stopped coming|not complete/, 300],
  ])('if %s', async (_, script, text, limitMs) => bothAreLost(script, text, limitMs));

  it('if the body comes steadily and too slowly', async () => {
    const drip: Script = (socket) => {
      socket.write(headOf(200, { 'Content-Length': '1000000' }));
      const timer = setInterval(() => socket.write(' '), 20);
      socket.on('close', () => clearInterval(timer));
    };
    await bothAreLost(drip, /not complete/, 300);
  });

  it('unless a long answer comes slowly, which gets a second more for every 16 kB', async () => {
    const body = JSON.stringify({ id: jobId, status: 'IN_QUEUE', note: 'x'.repeat(400_000) });
    const slow: Script = (socket) => {
      socket.write(headOf(200, { 'Content-Length': String(body.length) }) + body.slice(0, -1));
      setTimeout(() => socket.write('}'), 300);
    };
    expect(await statusFrom(slow, { requestTimeoutMs: 30_000, wholeAnswerMs: 200 })).toEqual(queued);
  });

  it('unless a long input is sent slowly, which gets a second more for every 4 kB', async () => {
    const slow: Script = (socket, request) => void setTimeout(() => inQueue(socket, request), 600);
    const { url } = await scriptedServer(slow);
    const { service } = clientOf(url, { requestTimeoutMs: 300 });
    const endpoint = { baseUrl: url, id: 'scene-renderer', version: 'v2' } as const;
    const submit = (input: object) => service.submit(endpoint, { ...input }, new AbortController().signal);
    const [long, short] = [submit({ image: 'x'.repeat(40_000) }), submit({ scene: 'a hill' })];
    expect(await long).toEqual(accepted);
    expect(await short).toEqual(failure('unanswered', /no answer came in time/));
  });

  it('if the run ends while the answer is awaited or comes', async () => {
    for (const script of [() => undefined, answerPart] satisfies Script[]) {
      const server = await scriptedServer(script);
      const { submit, status } = clientOf(server.url);
      const abandon = new AbortController();
      const replies = [submit(abandon.signal), status(abandon.signal)];
      await server.received(2);
      abandon.abort(null);
      expect(await Promise.all(replies)).toEqual([
        failure('unanswered', /was aborted/),
        failure('poll-failed', /was aborted/),
      ]);
    }
  });
});

describe('the status alone is enough if the body is cut', () => {
  it.each([
    [401, 'key-refused'],
    [429, 'overloaded'],
    [400, 'input-refused'],
  ])('%i', async (status, kind) => {
    const script: Script = (socket) => socket.end(`${headOf(status, { 'Content-Length': '99' })}{"err`);
    expect(await submitTo(script)).toEqual(failure(kind, String(status)));
  });

  it('404 of a status request', async () => {
    expect(await statusFrom((socket) => socket.end(headOf(404, { 'Content-Length': '9' })))).toMatchObject({
      kind: 'missing',
    });
  });
});

it('the job id is taken from an answer that was cut behind it', async () => {
  const script: Script = (socket) => socket.end(`${head}{"id":"${jobId}","sta`);
  expect(await submitTo(script)).toEqual({ ...accepted, status: '' });
});

it('no job id is taken from an answer that was cut within it', async () => {
  expect(await submitTo((socket) => socket.end(`${head}{"id":"${jobId}`))).toEqual(failure('unanswered'));
});

it('a connection is used again', async () => {
  const server = await scriptedServer(inQueue);
  const { status } = clientOf(server.url);
  for (let i = 0; i < 20; i++) expect(await status()).toEqual(queued);
  expect(new Set(server.requests.map(({ connection }) => connection)).size).toBeLessThan(20);
});

it('requests continue if the service closes the connection behind each answer', async () => {
  const server = await scriptedServer((socket, request) => {
    inQueue(socket, request);
    socket.end();
  });
  const { submit, status } = clientOf(server.url);
  for (let i = 0; i < 20; i++) expect(await submit()).toEqual(accepted);
  expect(await Promise.all(Array.from({ length: 200 }, () => status()))).toEqual(
    Array.from({ length: 200 }, () => queued),
  );
  expect(server.requests).toHaveLength(220);
});

it('a request is not repeated on its own if a used connection turns out to be dead', async () => {
  const server = await scriptedServer(inTurn(inQueue, (socket) => socket.resetAndDestroy(), inQueue));
  const { submit, status } = clientOf(server.url);
  expect(await submit()).toEqual(accepted);
  expect(await submit()).toEqual(failure('unanswered', /reset|closed/));
  expect(await status()).toEqual(queued);
  expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'GET']);
});

it('an interim answer is skipped', async () => {
  const hinting: Script = (socket, request) => {
    socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
    inQueue(socket, request);
  };
  expect(await submitTo(hinting)).toEqual(accepted);
});

it('an answer without a body is not waited for any further', async () => {
  expect(await submitTo((socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'))).toEqual(
    failure('unanswered'),
  );
  expect(await statusFrom(answer(304))).toEqual(failure('poll-failed', /304/));
});

const endlessHeaders = `HTTP/1.1 200 OK\r\n${'X-Filler: abcdefghijklmnop\r\n'.repeat(2_000)}`;
const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

function answerPart(socket: Parameters<Script>[0]): void {
  socket.write(`${head}{"a":`);
}

function resetAfter(text: string): Script {
  return (socket) => socket.write(text, () => socket.resetAndDestroy());
}

it('a refusal is read that comes before the body was taken, and before the connection ends', async () => {
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
