/**
 * Promise: the KEDA example of the manual uses metrics that the service provides and a command line that the
 * worker accepts.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { packageFile } from '../../src/lib/files/package-file.ts';
import { workCommand } from '../../src/commands/work.ts';
import { openService, submit } from './service-harness.ts';

interface ScaledJob {
  spec: {
    triggers: { metadata: { query: string } }[];
    jobTargetRef: {
      template: {
        spec: {
          terminationGracePeriodSeconds: number;
          containers: { command: string[]; args: string[]; env: { name: string }[] }[];
        };
      };
    };
  };
}

function blocks(): unknown[] {
  const page = readFileSync(packageFile('src/help/kubernetes-workers.md'), 'utf8');
  return [...page.matchAll(/```yaml\n([^]*?)```/g)].flatMap(([, yaml = '']) =>
    parseAllDocuments(yaml).map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as unknown;
    }),
  );
}

const scaled = (): ScaledJob['spec'] => (blocks().at(-1) as ScaledJob).spec;

it('the example uses metrics, endpoints and statuses that exist', async () => {
  const [trigger] = scaled().triggers;
  const query = /^sum\((\w+)\{endpoint="gpu-farm",status=~"([A-Z_|]+)"\}\)$/.exec(
    trigger?.metadata.query ?? '',
  );
  const [, metric = '', statuses = ''] = query ?? [];
  const { url, held } = await openService();
  await submit(url, { scene: 'a' });
  await submit(url, { scene: 'b' });
  await held.next();
  const told = await (await fetch(`${url}/metrics`)).text();
  const counted = statuses.split('|').map((status) => {
    const sample = new RegExp(`^${metric}\\{endpoint="[^"]+",status="${status}"\\} (\\d+)$`, 'm');
    return [status, sample.exec(told)?.[1]];
  });
  expect(counted).toEqual([
    ['IN_QUEUE', '1'],
    ['IN_PROGRESS', '1'],
  ]);
});

it('the example starts a worker by a valid command line, with its key, and lets it end its job', () => {
  const { containers, terminationGracePeriodSeconds } = scaled().jobTargetRef.template.spec;
  const [worker] = containers;
  expect(worker?.command.slice(0, 2)).toEqual(['nightrender', 'work']);
  const names = (worker?.args ?? []).map((arg) => /^--([a-z]+)=./.exec(arg)?.[1]);
  expect(Object.keys(workCommand.options ?? {})).toEqual(expect.arrayContaining(names));
  expect(worker?.env.map(({ name }) => name)).toEqual(['NIGHTRENDER_WORKER_KEY']);
  const grace = worker?.args.find((arg) => arg.startsWith('--grace='));
  expect([grace, terminationGracePeriodSeconds]).toEqual(['--grace=10m', 660]);
});
