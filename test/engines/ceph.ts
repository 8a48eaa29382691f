/** Ceph as an S3 store for tests, with its data in memory. It ends with the test process. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';

const programs = ['ceph', 'ceph-mon', 'ceph-osd', 'monmaptool', 'radosgw', 'radosgw-admin'];

/** Reason why tests that need Ceph are skipped. Undefined if Ceph is installed. */
export const noCeph = programs.every((name) => existsSync(`/usr/bin/${name}`))
  ? undefined
  : 'Ceph is not installed; Debian: radosgw ceph-mon ceph-osd ceph-base';

export const accessKeyId = 'CIKEY';
export const secretAccessKey = 'a-secret-that-appears-nowhere';

export interface Ceph {
  url: string;
  /** Environment variables for programs that use the store. */
  env: Record<string, string>;
  /** Sends a request of the test itself. `path` is such as `/bucket/key`. */
  ask(method: string, path: string, body?: string): Promise<Response>;
  stop(): Promise<void>;
}

const fsid = '11111111-2222-3333-4444-555555555555';

export async function startCeph(): Promise<Ceph> {
  if (noCeph !== undefined) throw new Error(noCeph);
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-ceph-'));
  for (const name of ['mon', 'osd', 'rgw']) mkdirSync(join(dir, name));
  const [port, first, second] = await freePorts();
  const mon = `[v2:127.0.0.1:${first},v1:127.0.0.1:${second}]`;
  const conf = join(dir, 'ceph.conf');
  writeFileSync(conf, settings(dir, mon, port));
  const run = (name: string, ...args: string[]): void => {
    execFileSync(name, ['-c', conf, ...args], { stdio: 'ignore', timeout: 60_000 });
  };
  const started: ChildProcess[] = [];
  const begin = (name: string, ...args: string[]): void => {
    started.push(spawn(name, ['-c', conf, '-f', ...args], { stdio: 'ignore' }));
  };
  process.once('exit', () => started.forEach((each) => each.kill('SIGKILL')));
  const map = join(dir, 'monmap');
  execFileSync('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', mon, map], { stdio: 'ignore' });
  run('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map);
  begin('ceph-mon', '-i', 'a');
  const osd = '22222222-2222-3333-4444-555555555555';
  run('ceph', 'osd', 'new', osd);
  run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osd);
  begin('ceph-osd', '-i', '0');
  const user = [
    '--uid=ci',
    '--display-name=ci',
    `--access-key=${accessKeyId}`,
    `--secret-key=${secretAccessKey}`,
  ];
  run('radosgw-admin', '-n', 'client.rgw', 'user', 'create', ...user);
  begin('radosgw', '-n', 'client.rgw');
  const url = `http://127.0.0.1:${port}`;
  await untilAnswered(url);
  const client = new AwsClient({ accessKeyId, secretAccessKey, service: 's3', region: 'us-east-1' });
  return {
    url,
    env: {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_ENDPOINT_URL_S3: url,
    },
    ask: (method, path, body) => client.fetch(url + path, { method, ...(body !== undefined && { body }) }),
    stop: async () => {
      for (const each of started) each.kill('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function untilAnswered(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer !== undefined) return;
    await delay(100);
  }
  throw new Error('Ceph did not start');
}

async function freePorts(): Promise<[number, number, number]> {
  const servers = await Promise.all(
    [0, 1, 2].map(async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports as [number, number, number];
}

function settings(dir: string, mon: string, port: number): string {
  return `[global]
fsid = ${fsid}
mon host = ${mon}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd crush chooseleaf type = 0
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon max pg per osd = 1000
run dir = ${dir}
admin socket = ${dir}/$name.asok
pid file = ${dir}/$name.pid
log file = ${dir}/$name.log
public network = 127.0.0.0/8
mon data = ${dir}/mon
osd data = ${dir}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${port}
rgw data = ${dir}/rgw
`;
}
