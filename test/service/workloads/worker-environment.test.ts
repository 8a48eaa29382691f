/** Promise: a public worker finds in its environment all variables that the open-source worker SDK reads. */
import { expect, it } from 'vitest';
import { helperEnvironment, workerEnvironment } from '../../../src/service/workloads/worker-environment.ts';

it('the environment has the addresses with what the worker replaces in them, its id and its key', () => {
  expect(
    workerEnvironment({
      baseUrl: 'http://192.0.2.7:8000',
      endpointId: 'scene-renderer',
      workerId: 'w1',
      workerKey: 'key-of-the-worker',
      gpuName: 'RTX 4090 & co',
    }),
  ).toEqual({
    RUNPOD_WEBHOOK_GET_JOB: 'http://192.0.2.7:8000/v2/scene-renderer/job-take/$ID?gpu=RTX%204090%20%26%20co',
    RUNPOD_WEBHOOK_POST_OUTPUT:
      'http://192.0.2.7:8000/v2/scene-renderer/job-done/$RUNPOD_POD_ID/$ID?gpu=RTX%204090%20%26%20co',
    RUNPOD_WEBHOOK_POST_STREAM:
      'http://192.0.2.7:8000/v2/scene-renderer/job-stream/$RUNPOD_POD_ID/$ID?gpu=RTX%204090%20%26%20co',
    RUNPOD_WEBHOOK_PING:
      'http://192.0.2.7:8000/v2/scene-renderer/ping/$RUNPOD_POD_ID?gpu=RTX%204090%20%26%20co',
    RUNPOD_PING_INTERVAL: '10000',
    RUNPOD_ENDPOINT_ID: 'scene-renderer',
    RUNPOD_POD_ID: 'w1',
    RUNPOD_AI_API_KEY: 'key-of-the-worker',
  });
});

it('the environment has a query in every address, to which the worker appends', () => {
  const identity = { baseUrl: 'http://h', endpointId: 'e', workerId: 'w', workerKey: 'k', gpuName: null };
  const addresses = Object.entries(workerEnvironment(identity)).filter(([name]) => name.includes('WEBHOOK'));
  expect(addresses.map(([, address]) => address.split('?')[1])).toEqual(Array(4).fill('gpu=none'));
});

it('the environment of helpers lacks the secrets of the service, and has the variables of container tools', () => {
  const needed = {
    PATH: '/bin',
    HOME: '/root',
    LC_CTYPE: 'C.UTF-8',
    XDG_RUNTIME_DIR: '/run/user/1000',
    DOCKER_HOST: 'ssh://box',
    CONTAINER_HOST: 'unix:///run/podman.sock',
    SSH_AUTH_SOCK: '/tmp/agent',
    HTTPS_PROXY: 'http://proxy:3128',
    no_proxy: 'lan',
    LD_LIBRARY_PATH: '/usr/local/nvidia/lib64',
  };
  const secrets = {
    NIGHTRENDER_API_KEY: 'a',
    DATABASE_URL: 'b',
    AWS_SECRET_ACCESS_KEY: 'c',
    PGPASSWORD: 'd',
    HF_TOKEN: 'e',
    NVIDIA_API_KEY: 'f',
    DOCKER_AUTH_CONFIG: 'g',
    SLURM_JWT: 'h',
  };
  expect(helperEnvironment({ ...needed, ...secrets })).toEqual(needed);
});
