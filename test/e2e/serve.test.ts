/**
 * Promise: a single command starts a service with its own key. It keeps its data and says what it rejects.
 */
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { enter } from '../service/console/visit.ts';
import { folderWith, nightWith, testKey } from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { Served } from './served.ts';

const data = ['--data', 'service'];
const picture = { scene: 'A lighthouse at dawn', width: 64, height: 64 };

firstTier.it('a service paints without a file, and shows its first key once', async () => {
  const cwd = folderWith({});
  const first = await Served.start(cwd);
  expect(first.key).toMatch(/^nr_/);
  const job = await first.done('scene-renderer', picture);
  expect(job).toMatchObject({ status: 'COMPLETED' });
  expect((await first.stop()).code).toBe(0);
  const second = await Served.start(cwd);
  expect(second.key).toBe('');
  const kept = await second.ask(`/v2/scene-renderer/status/${job.id}`, { key: first.key });
  expect(await kept.json()).toEqual(job);
});

firstTier.it('a service says all that is wrong with its file, and starts nothing', async () => {
  const night = nightWith({
    'service.yaml': `prot: 1
endpoints:
  - name: A
    quickDeploy: paintr
  - name: a
    command: [no-such-program]
    workers: -1
`,
  });
  const { stderr } = await night
    .start('serve', 'service.yaml', ...data)
    .exits(2)
    .printsOnly('');
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/^service\.yaml:1:1: the key "prot" is unknown; did you mean port\?/),
    expect.stringMatching(/^service\.yaml:4:18: endpoints\[0\]\.quickDeploy is "paintr"/),
    expect.stringMatching(/^service\.yaml:5:11: endpoints\[1\]\.name is "a"/),
    expect.stringMatching(/^service\.yaml:6:15: endpoints\[1\]\.command\[0\] is "no-such-program"/),
    expect.stringMatching(/^service\.yaml:7:14: endpoints\[1\]\.workers is -1/),
    '5 problems were found; nothing was sent and nothing written.',
    '',
  ]);
  expect(night.has('service')).toBe(false);
});

rest.it(
  'a service says at its start what is missing for an endpoint of the console, and serves the others',
  async () => {
    const cwd = folderWith({ 'worker.cjs': 'setInterval(() => undefined, 1_000);' });
    const first = await Served.start(cwd);
    const endpoint = { id: 'own', name: 'Own', command: ['node', 'worker.cjs'] };
    const visit = await enter(first.url, first.key);
    expect(await visit.ask('POST', 'endpoints', endpoint)).toMatchObject({ status: 201 });
    expect(await first.stop()).toMatchObject({ code: 0, stderr: '' });
    rmSync(join(cwd, 'worker.cjs'));
    const second = await Served.start(cwd);
    const { code, stderr } = await second.stop();
    expect([code, stderr]).toEqual([
      0,
      `service: endpoint own: command.1: expected an existing file: ${join(cwd, 'worker.cjs')} is not one; its jobs wait until it is there\n`,
    ]);
  },
);

firstTier.it.each([
  [
    ['service.yaml', '--endpoint', 'x', '--workers', '2'],
    {},
    /^--endpoint: .*\n--workers: .*leave out --workers$/m,
  ],
  [
    ['--host', '0.0.0.0', '--insecure'],
    {},
    /no key yet; add one with `nightrender keys add NAME --kind admin --data serv/,
  ],
  [['open.yaml'], {}, /^open\.yaml: host: 0\.0\.0\.0 is open to other machines/],
  [
    ['--host', '192.0.2.1', '--insecure'],
    { NIGHTRENDER_API_KEY: testKey },
    /^This machine has no address 192\.0\.2\.1 to/,
  ],
  [[], { NIGHTRENDER_API_KEY: '' }, /^NIGHTRENDER_API_KEY: is empty; set it to a key/],
  [[], { NIGHTRENDER_API_KEY_FILE: 'empty.key' }, /^NIGHTRENDER_API_KEY_FILE: is empty; set it to a key/],
  [
    [],
    { NIGHTRENDER_API_KEY_FILE: 'none.key' },
    /^NIGHTRENDER_API_KEY_FILE: none\.key cannot be read; expected a file with a key/,
  ],
  [
    [],
    { NIGHTRENDER_API_KEY_FILE: 'empty.key', NIGHTRENDER_API_KEY: testKey },
    /^NIGHTRENDER_API_KEY_FILE: is set, and so is NIGHTRENDER_API_KEY; unset one of them/,
  ],
])('a service refuses %j with %j and a message', async (args, env, said) => {
  const night = nightWith({
    'service.yaml': 'endpoints: [{name: Painter, quickDeploy: painter}]',
    'open.yaml': 'host: 0.0.0.0',
    'empty.key': '\n',
  });
  await night
    .with({ env })
    .start('serve', ...args, ...data)
    .fails(2, said)
    .printsOnly('');
});

rest.it('a service accepts other machines once a key was created', async () => {
  const night = nightWith({});
  const { stdout } = await night.start('keys', 'add', 'net', ...data);
  const service = await Served.start(night.cwd, ['--host', '0.0.0.0', '--insecure']);
  expect(service.key).toBe('');
  const url = service.url.replace('0.0.0.0', '127.0.0.1');
  const headers = { authorization: `Bearer ${stdout.trim()}` };
  expect((await fetch(`${url}/v2/scene-renderer/health`, { headers })).status).toBe(200);
  expect((await fetch(`${url}/v2/scene-renderer/health`)).status).toBe(401);
});

rest.it('a service shows its first key only once it has started', async () => {
  const night = nightWith({});
  const { port } = new URL(await listenOnLoopback(createServer()));
  await night
    .start('serve', ...data, '--port', port)
    .exits(2)
    .printsOnly('')
    .warnsOnly(
      `Port ${port} is in use by another program: end that program, or choose another port with --port.\n`,
    );
  const service = await Served.start(night.cwd, [], { NIGHTRENDER_API_KEY: testKey });
  await night
    .start('serve', ...data, '--port', '0')
    .fails(11, 'another service')
    .printsOnly('');
  await service.stop();
  expect((await Served.start(night.cwd)).key).toMatch(/^nr_/);
});

rest.it('a service knows keys that are made and revoked beside it', async () => {
  const night = nightWith({});
  const service = await Served.start(night.cwd);
  const keys = (...args: string[]) => night.start('keys', ...args, ...data);
  const key = (await keys('add', 'laptop', '--endpoint', 'scene-renderer')).stdout.trim();
  const health = async () => (await service.ask('/v2/scene-renderer/health', { key })).status;
  expect(await health()).toBe(200);
  await keys('revoke', 'laptop');
  expect(await health()).toBe(401);
});

rest.it('a service accounts jobs and the time of workers to the key that they came with', async () => {
  const night = nightWith({});
  const service = await Served.start(night.cwd);
  await service.done('scene-renderer', picture);
  await service.done('scene-renderer', picture);
  await night.start('keys', 'add', 'laptop', ...data);
  const { stdout } = await night.start('keys', 'list', '--json', ...data);
  const [first, laptop] = stdout
    .split('\n')
    .slice(0, 2)
    .map((line) => JSON.parse(line) as JsonObject);
  const gpuMs = expect.any(Number) as number;
  expect(first).toMatchObject({ name: 'first', usage: [{ endpointId: 'scene-renderer', jobs: 2, gpuMs }] });
  expect(laptop).toMatchObject({ name: 'laptop', usage: [] });
  await night.start('keys', 'list', ...data).prints(/^first +admin .* 2 +\d+\.\d$/m);
});
