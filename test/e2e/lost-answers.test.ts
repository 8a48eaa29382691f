/**
 * Promise: with the service of this program, lost answers and kills during a submission neither create a
 * second job nor leave a submission unanswered.
 */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { isWhole, random, sampled, seed } from '../fakes/tier.ts';
import { folderWith, type Night, nightOf, serve } from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

const sceneCount = isWhole ? 24 : 12;
const rounds = 10;
/** With a third kill, a scene that was being submitted each time would be quarantined. */
const kills = 2;

const cases = (['hold', 'resubmit'] as const).flatMap((unanswered) =>
  Array.from({ length: rounds }, (_, round) => ({ unanswered, round })),
);

it.each(sampled(cases, { ms: 1_500 }))(
  'retry.unanswered: $unanswered, with another `endpoint.policy` after each kill, round $round',
  async ({ unanswered }) => {
    const { url, dataDir } = await serve(folderWith({}));
    const proxy = await startProxy(url);
    const more = `input: {scene: "{{ scene }}", width: 64, height: 48}
concurrency: 6
retry: {unanswered: ${unanswered}, firstWait: 10ms, longestWait: 100ms}
`;
    const night = nightOf(proxy.url, sceneCount, more);
    const pipeline = night.read('pipeline.yaml');
    for (let kill = 0; kill < kills; kill++) {
      const program = night.program('run', 'pipeline.yaml', '--json');
      proxy.strike(1 + random(sceneCount / kills), () => program.child.kill('SIGKILL'));
      expect((await program.finish()).code, `seed ${seed}: it was to be killed`).toBeNull();
      const policy = `policy: { executionTimeout: ${kill + 25}m }`;
      night.write('pipeline.yaml', pipeline.replace('endpoint:\n', `endpoint:\n  ${policy}\n`));
    }
    const last = await night.run();
    expect(last.code, `seed ${seed}: ${last.stderr}`).toBe(0);
    expect(proxy.lost(), `seed ${seed}`).toBeGreaterThan(sceneCount / 4);
    expect(attemptsOf(night), `seed ${seed}`).toEqual([{ state: 'saved', n: sceneCount }]);
    expect(jobsByScene(dataDir), `seed ${seed}`).toEqual(Array.from({ length: sceneCount }, () => 1));
  },
);

interface Proxy {
  url: string;
  /** Returns the number of lost answers to submissions. */
  lost: () => number;
  /** Calls `blow` during the nth submission from now on. */
  strike: (nth: number, blow: () => void) => void;
}

/**
 * Starts a proxy that loses the answers to half of the submissions or replaces them, whether or not the
 * service received the submission.
 */
async function startProxy(target: string): Promise<Proxy> {
  let lost = 0;
  let untilBlow = Infinity;
  let blow = (): void => undefined;
  const submit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const isBlow = --untilBlow === 0;
    // Calls `blow` either before or after the service receives the submission.
    if (isBlow && random(2) === 0) return blow();
    const isTold = random(4) > 0;
    const answer = isTold ? await forward(target, request, body) : undefined;
    if (isBlow) return blow();
    if (answer !== undefined && random(2) === 0) return pass(answer, response);
    lost += 1;
    if (random(2) === 0) response.destroy();
    else response.writeHead(502).end('<html>Bad Gateway</html>');
  };
  const server = createServer((request, response) => {
    void (async () => {
      if (request.url?.endsWith('/run') === true) return submit(request, response);
      return pass(await forward(target, request, await buffer(request)), response);
    })().catch(() => response.destroy());
  });
  const url = await listenOnLoopback(server);
  return {
    url,
    lost: () => lost,
    strike: (nth, strike) => {
      untilBlow = nth;
      blow = strike;
    },
  };
}

interface Answer {
  answer: IncomingMessage;
  body: Buffer;
}

function forward(
  target: string,
  { method, url = '', headers }: IncomingMessage,
  body: Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = send(target + url, { method, headers }, (answer) => {
      buffer(answer).then((whole) => resolve({ answer, body: whole }), reject);
    });
    asked.on('error', reject).end(body);
  });
}

function pass({ answer, body }: Answer, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 0, answer.headers).end(body);
}

function attemptsOf(night: Night): unknown {
  const db = new Sqlite(night.path('out/checkpoint.sqlite'), { readonly: true });
  try {
    return db.prepare('SELECT state, count(*) AS n FROM attempts GROUP BY state').all();
  } finally {
    db.close();
  }
}

function jobsByScene(dataDir: string): number[] {
  const db = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  try {
    return db.prepare<[], number>('SELECT count(*) FROM input GROUP BY text').pluck().all();
  } finally {
    db.close();
  }
}
