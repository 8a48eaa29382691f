/**
 * Promise: pictures by URL are downloaded only from allowed hosts, and never from this machine or its private
 * network.
 */
import { expect, it } from 'vitest';
import { answer, scriptedServer } from '../fakes/scripted-server.ts';
import { selfSigned } from '../fakes/self-signed.ts';
import { startInstantService } from './stand-ins.ts';
import { nightWith, pipeline, scenes, testKey } from './cli.ts';

it('a run stops at the first URL if no host is allowed, and at the first that is not public', async () => {
  const certificate = selfSigned();
  let connections = 0;
  const inside = await scriptedServer(answer(200, 'not for the internet'), {
    tls: certificate,
    onConnection: () => (connections += 1),
  });
  const address = `https://localhost:${inside.port}/a.png?signature=CANARY`;
  const service = await startInstantService({ image_url: address });
  const file = pipeline(service.url, 'concurrency: 1');
  const night = nightWith({ 'pipeline.yaml': file, 'scenes.csv': scenes(3), 'ca.pem': certificate.cert });
  const env = { NIGHTRENDER_API_KEY: testKey, NODE_EXTRA_CA_CERTS: night.path('ca.pem') };

  const first = await night
    .with({ env })
    .run()
    .exits(10, `localhost:${inside.port}, and \`output.hosts\` is empty`, '1 in flight, 2 waiting');
  expect(service.inputs).toHaveLength(1);

  const allowing = file.replace('dir: out', `dir: out\n  hosts: ["localhost:${inside.port}"]`);
  expect(allowing).not.toBe(file);
  night.write('pipeline.yaml', allowing);
  const second = await night.with({ env }).run().exits(10);
  expect(second.stdout + second.stderr).toContain(
    'has no public address; its result waits for `output.hosts`',
  );
  expect(first.stdout + second.stdout + first.stderr + second.stderr).not.toContain('CANARY');
  expect(service.inputs).toHaveLength(1);
  expect(connections).toBe(0);
});
