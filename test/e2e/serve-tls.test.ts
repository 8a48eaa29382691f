/**
 * Promise: other machines reach a service over HTTPS with its certificate, or unencrypted only if the user
 * explicitly allows it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { expect } from 'vitest';
import { certificatesIn, hasOpenssl } from '../service/certificates.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { nightWith, testKey } from './cli.ts';
import { Served } from './served.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

const pipeline = (url: string) => `
manifest: scenes.csv
endpoint: { baseUrl: '${url}', id: farm, apiKey: "\${NIGHTRENDER_API_KEY}" }
input: { scene: '{{ scene }}', width: 64, height: 64 }
output: { dir: renders }
`;

rest.it.skipIf(!hasOpenssl)(
  'a service with a certificate renders on machines that trust its authority (skipped if there is no openssl)',
  async () => {
    const night = nightWith({
      'service.yaml': 'tls: {cert: cert.pem, key: key.pem}\nendpoints: [{name: Farm, remote: true}]\n',
      'scenes.csv': 'id,scene\na,a hill\nb,a lake\n',
    });
    const { authority } = certificatesIn(night.cwd);
    const service = await Served.start(night.cwd, ['service.yaml', '--host', '0.0.0.0'], env);
    const url = service.url.replace('0.0.0.0', 'localhost');
    const keyAdd = ['keys', 'add', 'box', '--kind', 'worker', '--endpoint', 'farm', '--data', 'service'];
    const workerKey = (await night.built(...keyAdd)).stdout.trim();
    night.write('pipeline.yaml', pipeline(url));

    const untrusting = await night.with({ env }).built('plan', 'pipeline.yaml', '--check');
    expect(untrusting.stderr + untrusting.stdout).toMatch(/certificate/);
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: authority };
    const worker = night
      .with({ env: { NODE_EXTRA_CA_CERTS: authority, NIGHTRENDER_WORKER_KEY: workerKey } })
      .program('work', url, '--endpoint', 'farm', '--allow', 'painter', '--data', 'box');
    const { code, stderr } = await night.with({ env: trusting }).built('run', 'pipeline.yaml');
    expect([code, stderr]).toEqual([0, expect.anything()]);
    expect(readdirSync(night.path('renders/images')).toSorted()).toEqual(['a.png', 'b.png']);
    worker.child.kill('SIGTERM');
    await worker.finish().exits(0);

    const { headers, statusCode } = await request(`${url}/console/api/session`, {
      method: 'POST',
      headers: { 'x-nightrender-console': '1', 'content-type': 'application/json' },
      body: JSON.stringify({ key: testKey }),
      dispatcher: new Agent({ connect: { ca: readFileSync(authority) } }),
    });
    expect([statusCode, headers['set-cookie']]).toEqual([200, expect.stringMatching(/; Secure$/)]);
  },
);

firstTier.it.skipIf(!hasOpenssl)(
  'a service refuses a file that is not a certificate, and says where the file is (skipped if there is no openssl)',
  async () => {
    const night = nightWith({
      'service.yaml': 'tls: {cert: none.pem, key: key.pem}\n',
      'swapped.yaml': 'tls:\n  cert: key.pem\n  key: cert.pem\n',
    });
    certificatesIn(night.cwd);
    await night
      .with({ env })
      .start('serve', 'service.yaml', '--data', 'service')
      .fails(2, /^service\.yaml:1:13: tls\.cert is "none\.pem"; expected a file that can be read/);
    await night
      .with({ env })
      .start('serve', 'swapped.yaml', '--data', 'service')
      .warns(/^swapped\.yaml:2:9: tls\.cert is "key\.pem"; expected a certificate in PEM/);
  },
);

firstTier.it('a service accepts other machines without encryption only if the user says so', async () => {
  const night = nightWith({});
  await night
    .with({ env })
    .start('serve', '--host', '0.0.0.0', '--data', 'service')
    .fails(2, /^--host: 0\.0\.0\.0 is open to other machines, and anybody .*`insecure: true` \(--insecure\)/);
});
