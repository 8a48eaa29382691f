/**
 * Promise: an endpoint with workers on a cluster must have all necessary settings, and none that the cluster
 * decides.
 */
import { expect, it } from 'vitest';
import { serviceOf, serviceProblems } from '../../runner/config/service-file.ts';

const head = 'publicUrl: https://render.example/\n';
const workers = 'workers: {min: 1, max: 64, idle: 5m}';
const farm = (keys: string): string => `endpoints: [{name: Farm, ${keys}}]\n`;
const command = 'command: [python3, worker.py]';
const on = "on: {slurm: ['--gres=gpu:1']}";

it('a cluster endpoint is read with the options of sbatch; its files are looked for there, not here', () => {
  const text = head + farm(`command: [/not/here, x], ${on}, ${workers}, recycle: {jobs: 9}`);
  const { settings } = serviceOf(text);
  expect(settings.publicUrl).toBe('https://render.example');
  expect(settings.endpoints[0]).toMatchObject({
    on: { slurm: ['--gres=gpu:1'] },
    workers: { min: 1, max: 64, idle: 300_000 },
  });
});

it.each([
  [
    'no publicUrl',
    farm(`${command}, ${on}, ${workers}`),
    /publicUrl is missing; expected the address at which/,
  ],
  [
    'http: to others',
    `publicUrl: http://render.example\n${farm(`${command}, ${on}, ${workers}`)}`,
    /expected an https: address, or `insecure: true`/,
  ],
  [
    'no address',
    `publicUrl: render.example\n${farm(`${command}, ${on}, ${workers}`)}`,
    /publicUrl is "render.example"; expected an address such as https/,
  ],
  [
    'no workers',
    head + farm(`${command}, ${on}`),
    /workers is missing; expected how many workers the cluster may run, such as \{min: 0/,
  ],
  ['no worker', head + farm(`${command}, ${on}, workers: 0`), /workers is 0; expected at least 1/],
  [
    'a container',
    head + farm(`image: me/worker:1, ${on}, ${workers}`),
    /on is .*; expected no cluster: it runs a command or quickDeploy/,
  ],
  [
    'quickStart',
    head + farm(`${command}, ${on}, ${workers}, quickStart: true`),
    /quickStart is true; expected false: `min`/,
  ],
  [
    'devices',
    head + farm(`${command}, ${on}, ${workers}, gpu: {devices: [0]}`),
    /gpu.devices is .*; expected no devices: the cluster assigns them/,
  ],
  [
    'a memory limit',
    head + farm(`${command}, ${on}, ${workers}, memory: 8GB`),
    /memory is "8GB"; expected no memory limit: .*--mem=16G/,
  ],
  [
    'a time',
    head + farm(`${command}, ${on}, ${workers}, recycle: {time: 6h}`),
    /recycle is .*; expected only `jobs`/,
  ],
  [
    'Kubernetes',
    head + farm(`${command}, on: kubernetes, ${workers}`),
    /on is "?kubernetes"?; expected .* nightrender help kubernetes-workers/,
  ],
  [
    'an option without dashes',
    head + farm(`${command}, on: {slurm: [gpu]}, ${workers}`),
    /on.slurm\[0\] is "?gpu"?; expected an option of sbatch/,
  ],
  [
    'a name of its own',
    head + farm(`${command}, on: {slurm: [--job-name=x]}, ${workers}`),
    /expected no option that names or counts jobs/,
  ],
])('refuses %s', (_, text, problem) => {
  expect(serviceProblems(text)).toEqual([expect.stringMatching(problem)]);
});
