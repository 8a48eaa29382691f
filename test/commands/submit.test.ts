/**
 * Promise: problems that a cluster would find only at night are rejected at once with a message, and no
 * secret leaves this machine.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { enlarging } from '../fakes/comfyui-workflows.ts';
import { inProcess, Night, nightOf, nightWith, pipeline, scenes, testKey } from '../e2e/cli.ts';

const remote = 'https://render.example';
const shared = 'checkpoint: ${DATABASE_URL}\n';
const address = 'postgres://night:secret-of-a-test@db.example/night';
const env = { NIGHTRENDER_API_KEY: testKey, DATABASE_URL: address };

function batch(yaml: string, list = scenes(3)): Night {
  return nightWith({ 'pipeline.yaml': yaml, 'scenes.csv': list });
}

function submit(night: Night, ...args: string[]) {
  return night.with({ env }).do('submit', ...args);
}

const inBucket = (text: string): string =>
  text.replace('dir: out', 'dir: out\n  pictures: s3://bucket/night');
const onKubernetes = ['--on', 'kubernetes', '--image', 'me/nightrender:1'];

describe('`submit` ends with 2 for', () => {
  it.each<[string, string, string[], RegExp]>([
    ['no cluster', pipeline('local'), [], /--on: is missing; expected slurm or kubernetes/],
    [
      'an unknown one',
      pipeline('local'),
      ['--on', 'lsf'],
      /--on: "lsf" is given; expected slurm or kubernetes/,
    ],
    [
      'several runners without a checkpoint that they share',
      pipeline('local'),
      ['--on', 'slurm', '--runners', '16'],
      /pipeline\.yaml: 16 runners need a checkpoint that they share: set checkpoint: \$\{DATABASE_URL\}/,
    ],
    [
      'a list from standard input',
      pipeline('local').replace('scenes.csv', "'-'"),
      ['--on', 'slurm'],
      /pipeline\.yaml:1:11: there is no standard input on a cluster/,
    ],
    [
      'what a run would refuse',
      pipeline('local', 'concurrency: 0\n'),
      ['--on', 'slurm'],
      /pipeline\.yaml:8:14: concurrency is 0/,
    ],
    [
      'options of the other cluster',
      pipeline('local'),
      ['--on', 'slurm', '--image', 'x'],
      /--image: is for Kub/,
    ],
    [
      'options of sbatch for Kubernetes',
      pipeline('local'),
      [...onKubernetes, '--volume', 'v', '--', '--partition=cpu'],
      /--: --partition=cpu is for Slurm/,
    ],
    ['no image', pipeline('local'), ['--on', 'kubernetes', '--volume', 'v'], /--image: is missing/],
    [
      'a pod whose work would be lost',
      pipeline('local'),
      onKubernetes,
      /--volume: is missing: without it, checkpoint and pictures .* would be lost with the pod/,
    ],
    [
      'a checkpoint that would be lost',
      inBucket(pipeline(remote)),
      onKubernetes,
      /without it, the checkpoint .* would be lost/,
    ],
    [
      'pictures that would be lost',
      pipeline(remote, shared),
      onKubernetes,
      /without it, pictures .* would be lost/,
    ],
    [
      'a key in the file',
      pipeline(remote).replace('${NIGHTRENDER_API_KEY}', 'rk-of-a-test-1234'),
      [...onKubernetes, '--volume', 'v'],
      /pipeline\.yaml:5:11: a secret is written in the file/,
    ],
    [
      'a list outside of the folder',
      pipeline('local').replace('scenes.csv', '/elsewhere/scenes.csv'),
      [...onKubernetes, '--volume', 'v'],
      /\/elsewhere\/scenes\.csv: is outside the folder of pipeline\.yaml/,
    ],
    ['a drain without Slurm', pipeline('local'), [...onKubernetes, '--drain', '1m'], /--drain: is for Slurm/],
    [
      'a drain that is none',
      pipeline('local'),
      ['--on', 'slurm', '--drain', 'soon'],
      /--drain: "soon" is given/,
    ],
  ])('%s', async (_, yaml, args, words) => {
    await submit(batch(yaml), ...args)
      .fails(2, words)
      .warnsNo('rk-of-a-test')
      .printsOnly('');
  });

  it('files for ComfyUI without a volume, and a key of partner nodes in the file', async () => {
    const yaml = `manifest: scenes.csv
endpoint:
  speaks: comfyui
  baseUrl: https://box.example
  comfyApiKey: comfyui-of-a-test
  workflow: flow.json
  set: {'10.image': '{{ scene | upload }}'}
checkpoint: \${DATABASE_URL}
output: {dir: out, pictures: 's3://bucket/night'}
`;
    const files = {
      'pipeline.yaml': yaml,
      'flow.json': JSON.stringify(enlarging('x')),
      'scenes.csv': scenes(1),
    };
    await submit(nightWith(files), ...onKubernetes)
      .fails(
        2,
        /pipeline\.yaml:5:16: a secret is written in the file/,
        /--volume: is missing: the files that jobs send must be in it/,
      )
      .warnsNo('comfyui-of-a-test')
      .printsOnly('');
  });

  it('lists that are too large for a ConfigMap, without a volume', async () => {
    const night = batch(inBucket(pipeline(remote, shared)), scenes(50_000));
    await submit(night, ...onKubernetes).fails(
      2,
      /--volume: is missing: pipeline\.yaml and lists have [\d,]+ bytes/,
    );
    await submit(night, ...onKubernetes, '--volume', 'v').printsNo('Hills');
  });

  it('variables that are not set, for Slurm: the cluster has no others', async () => {
    const night = batch(pipeline(remote, shared));
    await night
      .do('submit', '--on', 'slurm', '--dry-run')
      .fails(2, /variable NIGHTRENDER_API_KEY is not set[^]*variable DATABASE_URL is not set/)
      .printsOnly('');
    await night
      .do('submit', ...onKubernetes, '--volume', 'v')
      .exits(0)
      .warnsOnly('');
  });

  it('a machine that is no part of a cluster', async () => {
    const night = batch(pipeline('local'));
    await night
      .with({ env: { PATH: night.cwd } })
      .do('submit', '--on', 'slurm')
      .fails(2, 'sbatch: this program does not exist here; submit from a machine of the cluster');
  });
});

it('`submit` shows a script that bash can read, with paths and options of any kind', async () => {
  const night = new Night(join(nightOf('local', 1).cwd, "it's 100% night"));
  cpSync(nightOf('local', 1).cwd, night.cwd, { recursive: true });
  const more = ['--', '--partition=cpu', '--comment', 'for "me"', '-t', '2:00:00'];
  const { stdout } = await submit(night, '--on', 'slurm', '--dry-run', ...more)
    .exits(
      0,
      `#SBATCH --chdir="${night.cwd}"\n`,
      '#SBATCH --partition=cpu --comment "for \\"me\\"" -t 2:00:00\n',
    )
    .warnsOnly('');
  // 5 min to drain, 10 s of grace, 20 s for the report, and 5 s for the signal.
  expect(stdout).toContain('#SBATCH --signal=B:USR1@335\n');
  expect(spawnSync('bash', ['-n'], { input: stdout, encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });
});

it('`submit` asks Slurm for as many tasks as runners', async () => {
  await submit(batch(pipeline(remote, shared)), '--on', 'slurm', '--runners', '16', '--dry-run')
    .exits(0, '#SBATCH --array=0-15\n')
    .printsNo('secret-of-a-test');
});

it('`submit` prints a Kubernetes manifest for several runners, with names of variables and no value', async () => {
  const night = batch(inBucket(pipeline(remote, shared)));
  const { stdout } = await submit(night, ...onKubernetes, '--runners', '16')
    .exits(0)
    .printsNo(testKey, 'secret-of-a-test')
    .warnsOnly('');
  const [, job] = parseAllDocuments(stdout).map((each) => each.toJS() as unknown);
  const required = [...stdout.matchAll(/^# The Secret nightrender holds (.*)\. Once/gm)].map(
    ([, names]) => names,
  );
  expect(required).toEqual(['NIGHTRENDER_API_KEY, DATABASE_URL']);
  expect(job).toMatchObject({ spec: { completions: 16, parallelism: 16 } });
  expect(stdout).toContain('AWS_ACCESS_KEY_ID');
});

it("`submit` includes the files that the endpoint names: a workflow, and a description of one's own", async () => {
  const flow = { 6: { class_type: 'CLIPTextEncode', inputs: { text: '' } } };
  const own = `submit: { post: '{{ baseUrl }}/jobs', job: id }
status: { get: '{{ baseUrl }}/jobs/{{ job.id }}', at: state, map: { done: done } }
auth: none
`;
  const endpoints = [
    "{ speaks: comfyui, baseUrl: 'https://box.example', workflow: flow.json, set: { '6.text': '{{ scene }}' } }",
    "{ speaks: own.yaml, baseUrl: 'https://box.example' }",
    "{ speaks: fal, id: owner/model, apiKey: '${FAL_KEY}' }",
  ];
  const taken: string[] = [];
  for (const endpoint of endpoints) {
    const yaml = `manifest: scenes.csv\nendpoint: ${endpoint}\noutput: { dir: out, pictures: s3://bucket/night }\ncheckpoint: \${DATABASE_URL}\n`;
    const night = nightWith({
      'pipeline.yaml': yaml,
      'scenes.csv': scenes(3),
      'flow.json': JSON.stringify(flow),
      'own.yaml': own,
    });
    const options = { cwd: night.cwd, env: { ...env, FAL_KEY: 'a-key-of-a-test' } };
    const { stdout } = await inProcess(['submit', 'pipeline.yaml', ...onKubernetes], options)
      .exits(0)
      .warnsOnly('');
    taken.push(stdout);
  }
  const has = (text: string): boolean[] => taken.map((each) => each.includes(text));
  expect(has('CLIPTextEncode')).toEqual([true, false, false]);
  expect(has('{{ job.id }}')).toEqual([false, true, false]);
  expect(has('FAL_KEY')).toEqual([false, false, true]);
  expect(has('a-key-of-a-test')).toEqual([false, false, false]);
});

it('`submit --status` repeats the words of kubectl about the Jobs of the batch', async () => {
  const night = batch(pipeline('local'));
  const items = [
    {
      metadata: { name: 'nightrender-out-1' },
      spec: { completions: 16 },
      status: {
        succeeded: 15,
        failedIndexes: '3',
        conditions: [{ type: 'Failed', status: 'True', message: 'Job has failed indexes' }],
      },
    },
    { metadata: { name: 'nightrender-out-2' }, spec: { completions: 2 }, status: { active: 2 } },
  ];
  night.write('jobs.json', JSON.stringify({ items }));
  night.write('kubectl', '#!/bin/sh\nexec cat "$(dirname "$0")/jobs.json"\n');
  chmodSync(night.path('kubectl'), 0o755);
  const path = `${night.cwd}:/usr/bin:/bin`;
  await night
    .with({ env: { PATH: path } })
    .do('submit', '--status', '--on', 'kubernetes')
    .exits(
      0,
      /^Kubernetes, nightrender-[\w-]+: 1 Failed, 1 Running\n/,
      'nightrender-out-1  Failed  0 at work, 15 of 16 complete  failed: 3  Job has failed indexes',
      'nightrender-out-2  Running  2 at work, 0 of 2 complete',
    );
});

it('`submit --status` says which tasks Slurm had to kill', async () => {
  const night = nightOf('local', 1);
  const columns = (...texts: (string | number)[]): string =>
    texts.map((text) => String(text).padEnd(60)).join('');
  night.write(
    'live',
    `${columns('7_1', 'FAILED', 9, '1:00', 'node1', 'None')}\n${columns('7_2', 'FAILED', 13 << 8, '1:00', 'node1', 'None')}\n`,
  );
  night.write(
    'ended',
    '6_1|OUT_OF_MEMORY|0:9|00:01:00|node1|None\n6_2|COMPLETED|0:0|00:01:00|node1|None\n6_3|FAILED|0:15|00:01:00|node1|None\n',
  );
  for (const [program, answer] of [
    ['squeue', 'live'],
    ['sacct', 'ended'],
  ] as const) {
    night.write(program, `#!/bin/sh\nexec cat "$(dirname "$0")/${answer}"\n`);
    chmodSync(night.path(program), 0o755);
  }
  await night
    .with({ env: { PATH: `${night.cwd}:/usr/bin:/bin` } })
    .do('submit', '--status', '--on', 'slurm')
    .exits(
      0,
      /6_1 {2}OUT_OF_MEMORY .*exit code 137: killed by signal 9\n/,
      /6_2 {2}COMPLETED {2}node1 {2}00:01:00\n/,
      /6_3 .*exit code 143: stopped by SIGTERM/,
      /7_1 .*exit code 137: killed by signal 9/,
      /7_2 .*exit code 13: /,
    );
});
