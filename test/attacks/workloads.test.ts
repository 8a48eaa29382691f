/**
 * Promise: programs that the service runs cannot read its secrets, and a container reaches only what it was
 * given.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { folderWith, nightWith } from '../e2e/cli.ts';
import { listenOnLoopback, unusedPort } from '../e2e/listen-on-loopback.ts';
import { Served } from '../e2e/served.ts';
import { prepareWithPython, testImage } from '../service/workloads/container-image.ts';

/** A word that is in each secret variable of the service and nowhere else. */
const word = `tell-nobody-${process.pid}-${Date.now()}`;
const secrets = {
  NIGHTRENDER_API_KEY: `nr_${word}`,
  DATABASE_URL: `postgres://service:${word}@127.0.0.1/jobs`,
  AWS_SECRET_ACCESS_KEY: word,
  HF_TOKEN: word,
};

/** A worker program that looks for the word in the environments of all processes, including its parent. */
const thief = `
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const look = (pid, name) => { try { return readFileSync('/proc/' + pid + '/' + name, 'latin1'); } catch { return ''; } };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, input } = JSON.parse(line);
  const all = readdirSync('/proc').filter((name) => /^\\d+$/.test(name));
  const found = all.filter((pid) => look(pid, 'environ').includes(input.word)).map((pid) => look(pid, 'cmdline'));
  const parent = look(process.ppid, 'environ');
  console.log(JSON.stringify({ id, output: { found, readsParent: parent.includes('PATH=') } }));
}`;

/** Creates tools that the service starts. Each writes its environment to a file. */
function tools(cwd: string): string {
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh\nenv >>${cwd}/given-$\{0##*/}\nexit 1\n`;
  for (const name of ['podman', 'docker', 'nvidia-smi', 'squeue', 'sbatch']) {
    writeFileSync(join(bin, name), script);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

const isLinux = process.platform === 'linux';

describe.skipIf(!isLinux)('secrets of the service (skipped if there is no /proc)', () => {
  it('are in no environment of a command or of a container tool', async () => {
    const cwd = folderWith({
      'thief.mjs': thief,
      'service.yaml': JSON.stringify({
        publicUrl: 'http://127.0.0.1:1',
        endpoints: [
          { name: 'Thief', command: ['node', 'thief.mjs'], environment: { HF_TOKEN: 'of-the-endpoint' } },
          { name: 'Cluster', command: ['node', 'thief.mjs'], on: 'slurm', workers: 1 },
          { name: 'Box', image: 'user/none:1', network: 'host', capabilities: [], quickStart: true },
        ],
      }),
    });
    const PATH = `${tools(cwd)}:${process.env['PATH'] ?? ''}`;
    const service = await Served.start(cwd, ['service.yaml'], { ...secrets, PATH });
    await service.submit('cluster', { a: 1 });
    expect(await service.done('thief', { word })).toMatchObject({
      status: 'COMPLETED',
      output: { found: [], readsParent: true },
    });
    for (const tool of ['podman', 'nvidia-smi', 'squeue']) {
      const given = join(cwd, `given-${tool}`);
      await expect.poll(() => existsSync(given)).toBe(true);
      expect(readFileSync(given, 'utf8')).toContain('PATH=');
      expect(readFileSync(given, 'utf8')).not.toContain(word);
    }
    await service.stop();
  });

  it('are in no environment that a command of a worker elsewhere can read', async () => {
    const night = nightWith({
      'thief.mjs': thief,
      'service.yaml': 'endpoints: [{name: Farm, remote: true}]',
    });
    const service = await Served.start(night.cwd, ['service.yaml'], {
      NIGHTRENDER_API_KEY: 'key-of-the-service',
    });
    const keyAdd = ['keys', 'add', 'box', '--kind', 'worker', '--endpoint', 'farm', '--data', 'service'];
    const NIGHTRENDER_WORKER_KEY = (await night.built(...keyAdd)).stdout.trim();
    const allow = ['--allow', 'command:node thief.mjs'];
    const worker = night
      .with({ env: { NIGHTRENDER_WORKER_KEY } })
      .program('work', service.url, '--endpoint', 'farm', ...allow, '--data', 'box');
    expect(await service.done('farm', { word: NIGHTRENDER_WORKER_KEY })).toMatchObject({
      status: 'COMPLETED',
      output: { found: [] },
    });
    worker.child.kill('SIGTERM');
    await worker.finish();
    await service.stop();
  });

  it('may be in a file that the environment names', async () => {
    const cwd = folderWith({ 'api.key': `nr_${word}\n` });
    const service = await Served.start(cwd, [], { NIGHTRENDER_API_KEY_FILE: 'api.key' });
    const status = async (key: string) => (await service.ask('/v2/scene-renderer/health', { key })).status;
    expect([await status(`nr_${word}`), await status('nr_other')]).toEqual([200, 401]);
    await service.stop();
  });
});

const { prepared, python, skipped: noContainers } = await prepareWithPython();

/**
 * Returns a worker program that tries to reach everything that a container must not reach, then works as
 * usual.
 */
const intruder = (port: number, worker: string): string => `
import json, os, re, runpy, urllib.request
status = open('/proc/self/status').read()
def reached(url):
    try:
        return urllib.request.urlopen(url, timeout=5).status
    except Exception:
        return None
json.dump({
    'loopback': reached('http://127.0.0.1:${port}'),
    'capabilities': re.search(r'CapEff:\\s*(\\w+)', status)[1],
    'noNewPrivileges': re.search(r'NoNewPrivs:\\s*(\\w+)', status)[1],
}, open('/out/seen.json', 'w'))
runpy.run_path('${worker}', run_name='__main__')
`;

describe.skipIf(noContainers !== '')(`a container ${noContainers}`, () => {
  const fixtures = resolve(import.meta.dirname, '../fixtures');

  async function seenBy(bounds: object) {
    if (typeof prepared === 'string') throw new Error(prepared);
    const secret = await listenOnLoopback(createServer((_, response) => response.end('of this machine')));
    const cwd = folderWith({});
    mkdirSync(join(cwd, 'out'));
    const script = intruder(Number(new URL(secret).port), join(fixtures, 'pull-worker.py'));
    writeFileSync(join(cwd, 'out/intruder.py'), script);
    const port = await unusedPort();
    const folders = ['/usr', '/lib', '/lib64', python?.folder ?? '', fixtures].filter((path) =>
      existsSync(path),
    );
    const box = {
      name: 'Box',
      image: testImage,
      arguments: [...new Set(folders)]
        .map((path) => `--volume=${path}:${path}:ro`)
        .concat(`--volume=${cwd}/out:/out`),
      environment: { SCRIPT: `exec ${python?.program} /out/intruder.py` },
      ...bounds,
      serviceUrl: `http://host.containers.internal:${port}`,
    };
    writeFileSync(
      join(cwd, 'service.yaml'),
      JSON.stringify({ host: '0.0.0.0', insecure: true, endpoints: [box] }),
    );
    const env = {
      NIGHTRENDER_API_KEY: 'key-of-the-service',
      NIGHTRENDER_CONTAINER_TOOL: prepared.tool.command.join(' '),
      NIGHTRENDER_CONTAINER_ARGUMENTS: prepared.tool.containerArguments.join(' '),
    };
    const service = await Served.start(cwd, ['service.yaml'], env, port);
    const job = await fetch(`http://127.0.0.1:${port}/v2/box/runsync?wait=60000`, {
      method: 'POST',
      headers: { authorization: 'Bearer key-of-the-service', 'content-type': 'application/json' },
      body: JSON.stringify({ input: { a: 1 } }),
    });
    expect(await job.json(), service.program.stderr).toMatchObject({ status: 'COMPLETED' });
    const { stderr } = await service.stop();
    return { ...(JSON.parse(readFileSync(join(cwd, 'out/seen.json'), 'utf8')) as object), stderr };
  }

  it('reaches the service, reaches no program that listens only on loopback, and has no privileges', async () => {
    expect(await seenBy({ network: 'default', capabilities: [] })).toEqual({
      loopback: null,
      capabilities: '0000000000000000',
      noNewPrivileges: '1',
      stderr: '',
    });
  });

  it('of an earlier service.yaml runs as before, and the start warns about it', async () => {
    expect(await seenBy({})).toEqual({
      loopback: 200,
      capabilities: expect.stringMatching(/[1-9a-f]/),
      noNewPrivileges: '0',
      stderr: expect.stringMatching(
        /^service: endpoint box: its containers run with the rights .*`network` .*`capabilities`/,
      ),
    });
  });
});

describe('a request or folder that could let others in', () => {
  it('is refused or made private: two hosts, and a data folder that everybody may write', async () => {
    const cwd = folderWith({});
    mkdirSync(join(cwd, 'service'));
    chmodSync(join(cwd, 'service'), 0o777);
    const service = await Served.start(cwd);
    expect(statSync(join(cwd, 'service')).mode & 0o777).toBe(0o700);
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.end(
      'GET /console/ HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    );
    expect(await readText(socket)).toMatch(/^HTTP\/1\.1 400 /);
    await service.stop();
  });
});
