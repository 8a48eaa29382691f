/** Promise: a run behind a proxy works like any other, and the program says which proxy it uses. */
import { expect, it } from 'vitest';
import { MemoryStore } from '../fakes/memory-store.ts';
import { loopbackProxy } from '../fakes/loopback-proxy.ts';
import { inProcess, linesOf, nightOf, nightWith, pipeline, Program, scenes, withKey } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

it('a run reaches the service only through the proxy, is killed, resumes, and pays for nothing twice', async () => {
  const service = await startStandIn({ plan: () => ({ executionMs: 200 }) });
  service.jobs.knowsKeysMs = 86_400_000;
  const proxy = await loopbackProxy(Number(new URL(service.url).port));
  const cwd = nightOf('http://render.corp.example', 12, 'concurrency: 4\n').path('.');
  const env = { ...withKey.env, HTTP_PROXY: '', http_proxy: proxy.url.replace('//', '//ann:secret@') };
  const killed = new Program(['run', 'pipeline.yaml', '--json'], { cwd, env });
  await killed.event('scene-saved', 2);
  killed.child.kill('SIGKILL');
  await killed.finish();
  const { code, stdout, stderr } = await inProcess(['run', 'pipeline.yaml', '--json'], { cwd, env });
  expect(code, stdout + stderr).toBe(0);
  expect([...service.submissions().values()].filter((count) => count > 1)).toEqual([]);
  expect(service.submissions().size).toBe(12);
  expect(linesOf({ stdout }).at(-1)).toMatchObject({ type: 'run-ended', counts: { saved: 12 } });
  expect(stdout + stderr + killed.stdout + killed.stderr).not.toContain('secret');
});

const env = { ...withKey.env, HTTPS_PROXY: 'http://ann:secret@proxy.example:3128', NO_PROXY: 'corp.example' };

it.each([
  ['https://render.example', '', 'http://proxy.example:3128'],
  ['https://render.corp.example', '', null],
  ['https://10.1.2.3', '', null],
  ['https://10.1.2.3', 'proxy: all\n', 'http://proxy.example:3128'],
])('`plan` says which proxy leads to %s (%s): %s', async (baseUrl, more, proxy) => {
  const cwd = nightOf(baseUrl, 1, more).path('.');
  const { stdout } = await inProcess(['plan', 'pipeline.yaml'], { cwd, env });
  expect(/^ +proxy +(\S+)$/m.exec(stdout)?.[1] ?? null).toBe(proxy);
  const json = await inProcess(['plan', 'pipeline.yaml', '--json'], { cwd, env });
  expect(linesOf(json)).toMatchObject([{ type: 'plan', proxy }]);
  expect(stdout + json.stdout).not.toContain('secret');
});

it('`--version` says which proxies the environment names, and `--json` as well', async () => {
  const { stdout } = await inProcess(['--version'], { env });
  expect(stdout).toMatch(/^proxy {5}https http:\/\/proxy\.example:3128; except corp\.example$/m);
  const json = await inProcess(['--version', '--json'], { env });
  expect(linesOf(json)).toMatchObject([
    {
      type: 'versions',
      program: expect.stringMatching(/^nightrender /),
      parts: { node: process.versions.node },
      proxy: { https: 'http://proxy.example:3128', http: null, except: ['corp.example'] },
    },
  ]);
});

const wrong = { ...withKey.env, HTTPS_PROXY: 'socks5://ann:secret@proxy.example:1080' };

it.each([
  ['https://render.example', ''],
  ['http://render.example', 'notify: [{ ping: https://ping.example/1 }]\n'],
])('a variable that names no proxy is refused before anything is sent (%s, %s)', async (baseUrl, more) => {
  const cwd = nightOf(baseUrl, 1, more).path('.');
  const words = 'HTTPS_PROXY: not the address of a proxy';
  const { code, stdout, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd, env: wrong });
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  const planned = await inProcess(['plan', 'pipeline.yaml'], { cwd, env: wrong });
  expect(planned.stdout + planned.stderr).toContain(words);
  expect(stdout + stderr + planned.stdout + planned.stderr).not.toContain('secret');
});

it('an invalid proxy variable does not matter if its proxy would not be used', async () => {
  const service = await startStandIn();
  const cwd = nightOf(service.url, 1).path('.');
  for (const command of ['run', 'status']) {
    const { code, stdout, stderr } = await inProcess([command, 'pipeline.yaml'], { cwd, env: wrong });
    expect(code, stdout + stderr).toBe(0);
  }
});

it('`--version` says what is wrong with an invalid proxy variable', async () => {
  const { code, stdout } = await inProcess(['--version'], { env: wrong });
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^proxy {5}https HTTPS_PROXY: not the address of a proxy/m),
  ]);
  expect(stdout).not.toContain('secret');
});

it('`proxy: all` counts for a bucket, whichever command reads it', async () => {
  const store = await MemoryStore.start();
  const proxy = await loopbackProxy(Number(new URL(store.env['AWS_ENDPOINT_URL'] ?? '').port));
  const file = pipeline('local', 'proxy: all\n').replace('dir: out', 'dir: out\n  pictures: s3://any/night/');
  const night = nightWith({ 'pipeline.yaml': file, 'scenes.csv': scenes(1) });
  const behind = { ...store.env, AWS_ENDPOINT_URL: 'http://10.1.2.3', HTTP_PROXY: proxy.url };
  for (const args of [
    ['run', 'pipeline.yaml'],
    ['plan', 'pipeline.yaml', '--check'],
    ['verify', 'pipeline.yaml'],
    ['verify', 'out'],
  ]) {
    const before = proxy.asked.length;
    const { code, stdout, stderr } = await inProcess(args, { cwd: night.cwd, env: behind });
    expect(code, args.join(' ') + stdout + stderr).toBe(0);
    expect(proxy.asked.length, args.join(' ')).toBeGreaterThan(before);
  }
}, 60_000);
