/** Promise: notifications are sent in order and in time, and a failing target never affects the run. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type EndingKind, endings, type NoticeTarget } from '../../../src/runner/core/ending.ts';
import { noProxies } from '../../../src/lib/net/addresses.ts';
import { startNotifier, type Notifier } from '../../../src/runner/notify/notifier.ts';
import type { Event } from '../../../src/runner/pipeline/event.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { listenOnLoopback } from '../../e2e/listen-on-loopback.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

interface Heard {
  path: string;
  body: string;
}

/** Starts a server that records every request and answers it by `answer`. */
async function monitor(
  answer: (response: ServerResponse, request: IncomingMessage) => void = (response) =>
    void response.end('OK'),
): Promise<{ url: string; heard: Heard[]; next: (count: number) => Promise<void> }> {
  const heard: Heard[] = [];
  let wake = (): void => undefined;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      heard.push({ path: request.url ?? '', body });
      wake();
      answer(response, request);
    });
  });
  const url = await listenOnLoopback(server);
  const next = async (count: number): Promise<void> => {
    while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { url, heard, next };
}

const always = { isStart: true, isFinish: true, isHalt: true };

function notifierOf(
  targets: NoticeTarget[],
  folder = '.',
): { notifier: Notifier; clock: VirtualClock; warnings: string[] } {
  const clock = new VirtualClock(1_700_000_000_000);
  const warnings: string[] = [];
  const notifier = startNotifier(targets, {
    proxies: noProxies,
    clock,
    about: { manifest: ['scenes.csv'], outputDir: '/out' },
    folder,
    env: { PATH: process.env['PATH'], KEPT: 'kept' },
    describe: (event) => (event.type === 'warning' ? `warning: ${event.text}` : undefined),
    warn: (text) => void warnings.push(text),
  });
  return { notifier, clock, warnings };
}

const started: Event = {
  type: 'run-started',
  program: 'nightrender 0',
  manifest: ['scenes.csv'],
  endpoint: 'local x',
  outputDir: '/out',
  concurrency: 1,
};
const counts = { waiting: 1, active: 1, saved: 5, failed: 2, withdrawn: 0, invalid: 0 };

function ended(ending: EndingKind): Event {
  const { exitCode } = endings[ending];
  const rest = { counts, outputDir: '/out', report: undefined, cost: undefined, untold: 0 };
  return { type: 'run-ended', ending, exitCode, text: 'All is told', ...rest };
}

it.each<[EndingKind, string]>([
  ['complete', '/uuid?x=1'],
  ['incomplete', '/uuid/fail?x=1'],
  ['halted', '/uuid/fail?x=1'],
  ['interrupted', '/uuid/fail?x=1'],
])('a ping: the start, the last lines, and success only for %s', async (ending, path) => {
  const { url, heard } = await monitor();
  const { notifier, warnings } = notifierOf([{ kind: 'ping', to: `${url}/uuid/?x=1`, rules: always }]);
  notifier.emit(started);
  for (let i = 0; i < 30; i++) notifier.emit({ type: 'warning', text: `trouble ${i}` });
  notifier.emit(ended(ending));
  await notifier.close();
  expect(heard.map((each) => each.path)).toEqual(['/uuid/start?x=1', path]);
  expect(heard[1]?.body).toContain('All is told.\n5 saved, 2 failed, 2 left');
  expect(heard[1]?.body).toContain('trouble 29');
  expect(heard[1]?.body).not.toContain('trouble 9\n');
  expect(warnings).toEqual([]);
});

it('slack gets a text, a webhook all there is', async () => {
  const { url, heard } = await monitor();
  const { notifier } = notifierOf([
    { kind: 'slack', to: `${url}/slack`, rules: { ...always, isStart: false } },
    { kind: 'webhook', to: `${url}/hook`, rules: { ...always, isStart: false } },
  ]);
  notifier.emit(started);
  notifier.emit(ended('halted'));
  await notifier.close();
  const bodyOf = (path: string): unknown => JSON.parse(heard.find((each) => each.path === path)?.body ?? '');
  expect(bodyOf('/slack')).toEqual({
    text: 'nightrender, scenes.csv: halted\nAll is told.\n5 saved, 2 failed, 2 left',
  });
  expect(bodyOf('/hook')).toEqual({
    event: 'halt',
    at: '2023-11-14T22:13:20.000Z',
    text: 'All is told.',
    manifest: ['scenes.csv'],
    outputDir: '/out',
    failed: 0,
    ending: 'halted',
    exitCode: 10,
    counts,
    log: [],
  });
});

it('a chat shows texts from outside as plain text, without mentions or links', async () => {
  const { url, heard } = await monitor();
  const { notifier } = notifierOf([{ kind: 'slack', to: url, rules: always }]);
  notifier.emit({ ...ended('halted'), text: 'FAILED: <!channel> & <http://x|y>' } as Event);
  await notifier.close();
  expect(JSON.parse(heard[0]?.body ?? '')).toEqual({
    text: expect.stringContaining('FAILED: &lt;!channel&gt; &amp; &lt;http://x|y&gt;'),
  });
});

it('a command gets all there is on standard input and in its environment, in the folder of pipeline.yaml', async () => {
  const folder = tempFolder();
  const command = 'cat > in.json; env > env.txt';
  const { notifier, warnings } = notifierOf(
    [{ kind: 'command', to: command, rules: { ...always, isStart: false } }],
    folder,
  );
  notifier.emit(ended('complete'));
  await notifier.close();
  expect(warnings).toEqual([]);
  expect(JSON.parse(readFileSync(join(folder, 'in.json'), 'utf8'))).toMatchObject({
    event: 'finish',
    exitCode: 0,
    counts,
  });
  const env = readFileSync(join(folder, 'env.txt'), 'utf8').split('\n');
  expect(env).toEqual(
    expect.arrayContaining([
      'KEPT=kept',
      'NIGHTRENDER_EVENT=finish',
      'NIGHTRENDER_EXIT_CODE=0',
      'NIGHTRENDER_ENDING=complete',
    ]),
  );
});

it('failures and stalls, each when it is due', async () => {
  const { url, heard, next } = await monitor();
  const rules = { isStart: false, isFinish: false, isHalt: false, failures: 2, stallMs: 1_800_000 };
  const { notifier, clock } = notifierOf([{ kind: 'webhook', to: url, rules }]);
  const failure = {
    type: 'attempt-failed',
    scene: 'a',
    attempt: 1,
    jobId: 'j',
    kind: 'job-failed',
    text: '',
    next: 'waiting',
  } as const;
  notifier.emit({ type: 'recovered', inFlight: 3, unanswered: 0 });
  for (let i = 0; i < 2; i++) notifier.emit(failure);
  await next(1);
  while (heard.length < 2) {
    if (clock.sleeping > 0) clock.advance();
    await new Promise(setImmediate);
  }
  const told = heard.map(({ body }) => JSON.parse(body) as { event: string; text: string; at: string });
  expect(told.map(({ event, text }) => [event, text])).toEqual([
    ['failures', '2 attempts of this run have failed.'],
    ['stall', 'Nothing has finished for 30 min 0 s, with 1 in flight.'],
  ]);
  await notifier.close();
});

it.each<[string, (response: ServerResponse) => void, string]>([
  ['answers 500', (response) => void response.writeHead(500).end('no'), 'it answers 500'],
  [
    'redirects to itself for ever',
    (response) => void response.writeHead(302, { location: '/' }).end(),
    'it redirects (302), which is not followed',
  ],
  ['cuts the connection', (response) => void response.destroy(), 'the connection was cut'],
])('a monitor that %s is said once, and by its host alone', async (_, answer, reason) => {
  const { url, heard } = await monitor(answer);
  const { notifier, warnings } = notifierOf([{ kind: 'ping', to: `${url}/secret-uuid`, rules: always }]);
  notifier.emit(started);
  notifier.emit(ended('complete'));
  await notifier.close();
  expect(heard).toHaveLength(2);
  expect(warnings).toEqual([
    `notify[0] (ping, ${new URL(url).host}) was not notified (start): ${reason}; the run continues, and this warning is not repeated`,
  ]);
});

it.each([
  ['http://127.0.0.1:1/secret', 'the connection was refused'],
  ['http://no-such-host.invalid/secret', /there is no such host|its name cannot be resolved/],
])('a monitor that is not there: %s', async (to, reason) => {
  const { notifier, warnings } = notifierOf([{ kind: 'slack', to, rules: always }]);
  notifier.emit(ended('complete'));
  await notifier.close();
  expect(warnings).toEqual([expect.stringMatching(reason)]);
  expect(warnings.join()).not.toContain('secret');
});

it('a target that never answers is given up, and does not delay the others', async () => {
  const silent = await monitor(() => undefined);
  const { url, heard, next } = await monitor();
  const { notifier, clock, warnings } = notifierOf([
    { kind: 'ping', to: silent.url, rules: always },
    { kind: 'ping', to: url, rules: always },
  ]);
  notifier.emit(started);
  notifier.emit(ended('complete'));
  await next(2);
  await silent.next(1);
  const closing = notifier.close();
  await untilDone(closing, clock);
  expect(clock.elapsed()).toBe(10_000);
  expect(heard).toHaveLength(2);
  expect(warnings).toContainEqual(expect.stringContaining('notify[0]'));
});

it.skipIf(process.platform === 'win32')(
  'a command that never ends is ended with all that it has started',
  async () => {
    const folder = tempFolder();
    const command = 'sleep 600 & echo $! > pid; wait';
    const { notifier, clock, warnings } = notifierOf(
      [{ kind: 'command', to: command, rules: always }],
      folder,
    );
    notifier.emit(ended('complete'));
    const file = join(folder, 'pid');
    while (!existsSync(file) || readFileSync(file, 'utf8') === '') await new Promise(setImmediate);
    await untilDone(notifier.close(), clock);
    expect(warnings).toEqual([
      expect.stringContaining('notify[0] (command) was not notified (finish): it timed out and was killed'),
    ]);
    const pid = Number(readFileSync(file, 'utf8'));
    while (isRunning(pid)) await new Promise(setImmediate);
  },
);

it('a command that fails, and one that does not read', async () => {
  const targets = ['exit 3', 'true', 'no-such-program-at-all'].map(
    (to) => ({ kind: 'command', to, rules: always }) as const,
  );
  const { notifier, warnings } = notifierOf(targets);
  notifier.emit(ended('complete'));
  await notifier.close();
  expect(warnings).toHaveLength(2);
  expect(warnings.join('\n')).toContain('notify[0] (command) was not notified (finish): it ended with 3');
  expect(warnings.join('\n')).toContain('notify[2] (command) was not notified (finish): it ended with 127');
});

it.each([
  [
    'cannot hold',
    () => notifierOf([{ kind: 'command', to: `: ${'x'.repeat(300_000)}`, rules: always }]),
    'E2BIG',
  ],
  [
    'has no folder for',
    () => notifierOf([{ kind: 'command', to: 'true', rules: always }], '/no/such'),
    'ENOENT',
  ],
])('a command that the system %s is a warning', async (_, start, reason) => {
  const { notifier, warnings } = start();
  notifier.emit(started);
  notifier.emit(ended('complete'));
  await notifier.close();
  expect(warnings).toEqual([
    expect.stringContaining(`notify[0] (command) was not notified (start): ${reason}`),
  ]);
});

async function untilDone(work: Promise<void>, clock: VirtualClock): Promise<void> {
  const progress = { isDone: false };
  void work.then(() => (progress.isDone = true));
  while (!progress.isDone) {
    if (clock.sleeping > 0) clock.advance();
    await new Promise(setImmediate);
  }
}

function isRunning(pid: number): boolean {
  try {
    // A killed process that its parent has not reaped yet has the state Z.
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z');
  } catch {
    return false;
  }
}
