/**
 * Promise: the service works behind nginx and Caddy configured as in the manual, for clients, workers and the
 * console.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { certificatesIn, hasOpenssl } from '../service/certificates.ts';
import { nightWith, root, testKey } from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { Served } from './served.ts';

const env = { NIGHTRENDER_API_KEY: testKey };
const isThere = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;

interface Front {
  dir: string;
  service: string;
  files: { cert: string; key: string };
  /** Changes the configuration of the manual. */
  edit?: ((manual: string) => string) | undefined;
}

/** Returns the block of the manual in this language. */
function manualOf(language: string): string {
  const fence = new RegExp(`\`\`\`${language}\\n([^]+?)\`\`\``);
  return fence.exec(readFileSync(join(root, 'src/help/https.md'), 'utf8'))?.[1] ?? '';
}

/** Starts nginx as in the manual, with ports and files of this test. */
async function startNginx({ dir, service, files, edit = (text) => text }: Front): Promise<string> {
  const manual = edit(manualOf('nginx'));
  const { port } = new URL(await freeAddress());
  const server = manual
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('render.example', 'localhost')
    .replace('/etc/nginx/fullchain.pem', files.cert)
    .replace('/etc/nginx/privkey.pem', files.key)
    .replace('http://127.0.0.1:4747', service);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${dir}/${name};`,
  );
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; pid ${dir}/nginx.pid; error_log ${dir}/error.log;\nevents {}\nhttp { access_log off; ${paths.join(' ')}\n${server} }`,
  );
  const nginx = spawn('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'error.log')], {
    stdio: 'inherit',
  });
  onTestFinished(() => end(nginx));
  await expect.poll(() => answers(Number(port))).toBe(true);
  return `https://localhost:${port}`;
}

/** Starts Caddy as in the manual, with a certificate of this test instead of a public one. */
async function startCaddy({ dir, service, files }: Front): Promise<string> {
  const { port } = new URL(await freeAddress());
  const site = manualOf('caddy')
    .replace(
      'render.example {',
      `https://localhost:${port} {\n  bind 127.0.0.1\n  tls ${files.cert} ${files.key}`,
    )
    .replace('127.0.0.1:4747', new URL(service).host);
  writeFileSync(
    join(dir, 'Caddyfile'),
    `{\n  admin off\n  auto_https disable_redirects\n  storage file_system ${dir}\n  log {\n    level ERROR\n  }\n}\n${site}`,
  );
  const caddy = spawn('caddy', ['run', '--config', join(dir, 'Caddyfile'), '--adapter', 'caddyfile'], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir, XDG_DATA_HOME: dir },
  });
  onTestFinished(() => end(caddy));
  await expect.poll(() => answers(Number(port))).toBe(true);
  return `https://localhost:${port}`;
}

const fronts = [
  ['nginx', startNginx, hasOpenssl && isThere('nginx', '-v')],
  ['caddy', startCaddy, hasOpenssl && isThere('caddy', 'version')],
] as const;

async function end(proxy: ChildProcess): Promise<void> {
  proxy.kill('SIGTERM');
  if (proxy.exitCode === null) await once(proxy, 'exit');
}

async function freeAddress(): Promise<string> {
  const server = createServer();
  const address = await listenOnLoopback(server);
  server.close();
  await once(server, 'close');
  return address;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

async function start(startFront: (front: Front) => Promise<string>, edit?: Front['edit']) {
  const night = nightWith({
    'service.yaml': 'proxies: [127.0.0.1]\nendpoints: [{name: Farm, remote: true}]\n',
    'scenes.csv': `id,scene\n${Array.from({ length: 12 }, (_, index) => `s${index},a hill\n`).join('')}`,
  });
  const dir = night.path('proxy');
  mkdirSync(dir);
  const files = certificatesIn(night.cwd);
  const service = await Served.start(night.cwd, ['service.yaml'], env);
  const url = await startFront({ dir, service: service.url, files, edit });
  // The client has another address than the proxy.
  const trusting = { ca: readFileSync(files.authority) };
  const dispatcher = new Agent({ connect: trusting, localAddress: '127.0.0.2' });
  return { night, files, service, url, dispatcher };
}

describe.each(fronts)('behind %s (skipped if it or openssl is not there)', (_, startFront, isReady) => {
  it.skipIf(!isReady)(
    'renders with a worker and a run that know the address of the proxy alone',
    async () => {
      const { night, files, url } = await start(startFront);
      const keyAdd = ['keys', 'add', 'box', '--kind', 'worker', '--endpoint', 'farm', '--data', 'service'];
      const NIGHTRENDER_WORKER_KEY = (await night.built(...keyAdd)).stdout.trim();
      const NODE_EXTRA_CA_CERTS = files.authority;
      const worker = night
        .with({ env: { NODE_EXTRA_CA_CERTS, NIGHTRENDER_WORKER_KEY } })
        .program('work', url, '--endpoint', 'farm', '--allow', 'painter', '--data', 'box');
      night.write(
        'pipeline.yaml',
        `manifest: scenes.csv
endpoint: { baseUrl: '${url}', id: farm, apiKey: "\${NIGHTRENDER_API_KEY}" }
input: { scene: '{{ scene }}', width: 64, height: 64 }
output: { dir: renders }
`,
      );
      const { code } = await night
        .with({ env: { ...env, NODE_EXTRA_CA_CERTS } })
        .built('run', 'pipeline.yaml');
      expect([code, readdirSync(night.path('renders/images')).length]).toEqual([0, 12]);
      worker.child.kill('SIGTERM');
      await worker.finish().exits(0);
    },
  );

  it.skipIf(!isReady)(
    'knows clients by their own addresses, takes 20 MB, and signs in to the console with a cookie for HTTPS',
    async () => {
      const { url, service, dispatcher } = await start(startFront);
      const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
      const long = JSON.stringify({ input: { text: 'x'.repeat(19 * 1024 * 1024) }, policy: { ttl: 10_000 } });
      const run = await request(`${url}/v2/farm/runsync?wait=1000`, {
        method: 'POST',
        headers,
        body: long,
        dispatcher,
      });
      expect([run.statusCode, await run.body.json()]).toEqual([
        200,
        expect.objectContaining({ status: 'IN_QUEUE' }),
      ]);

      const signedIn = await request(`${url}/console/api/session`, {
        method: 'POST',
        headers: { 'x-nightrender-console': '1', 'content-type': 'application/json' },
        body: JSON.stringify({ key: testKey }),
        dispatcher,
      });
      const cookie = String(signedIn.headers['set-cookie']);
      expect([signedIn.statusCode, cookie]).toEqual([200, expect.stringMatching(/; Secure$/)]);
      const { token } = (await signedIn.body.json()) as { token: string };
      const overview = await request(`${url}/console/api/overview`, {
        headers: { 'x-nightrender-console': token, cookie: cookie.split(';')[0] },
        dispatcher,
      });
      await overview.body.dump();
      expect(overview.statusCode).toBe(200);

      // A guesser behind the same proxy, who claims another address each time, is blocked alone.
      for (let tried = 0; tried < 21; tried++) {
        const guess = { authorization: `Bearer guess-${tried}`, 'x-forwarded-for': `198.51.100.${tried}` };
        const { statusCode, body } = await request(`${url}/v2/farm/health`, { headers: guess, dispatcher });
        await body.dump();
        expect(statusCode).toBe(tried < 20 ? 401 : 429);
      }
      const elsewhere = { authorization: 'Bearer another', 'x-forwarded-for': '127.0.0.3' };
      expect((await fetch(`${service.url}/v2/farm/health`, { headers: elsewhere })).status).toBe(401);
    },
  );

  it.skipIf(!isReady)('shows its metrics to nobody without a key', async () => {
    const { url, service, dispatcher } = await start(startFront);
    await metricsNeedKey(url, service.url, dispatcher);
  });
});

it.skipIf(!fronts[0][2])(
  'requires a key for metrics behind an nginx that does not forward client addresses (skipped if there is no nginx or openssl)',
  async () => {
    const silent = (manual: string): string =>
      manual.replaceAll(/^.*(X-Forwarded|proxy_http_version|"").*$/gm, '');
    const { url, service, dispatcher } = await start(startNginx, silent);
    await metricsNeedKey(url, service.url, dispatcher);
  },
);

async function metricsNeedKey(url: string, behind: string, dispatcher: Agent): Promise<void> {
  const ask = async (headers: Record<string, string>): Promise<number> => {
    const { statusCode, body } = await request(`${url}/metrics`, { headers, dispatcher });
    await body.dump();
    return statusCode;
  };
  expect([await ask({}), await ask({ authorization: `Bearer ${testKey}` })]).toEqual([401, 200]);
  // The service cannot distinguish the proxy from a local program.
  expect((await fetch(`${behind}/metrics`)).status).toBe(401);
}
