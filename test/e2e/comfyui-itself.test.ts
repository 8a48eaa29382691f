/**
 * Promise: the tests of ComfyUI also pass with a real one with its test nodes, at NIGHTRENDER_COMFYUI.
 * NIGHTRENDER_COMFYUI_RESTART is a command that kills and restarts it.
 */
import { exec } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';
import { comfyuiContract } from '../contracts/comfyui.contract.ts';
import { renderServiceContract, type OpenWorld } from '../contracts/render-service.contract.ts';
import { openComfyui } from '../contracts/spoken-services.ts';
import { failing, sleeping } from '../fakes/comfyui-workflows.ts';
import { comfyuiNight } from './comfyui-night.ts';

const { NIGHTRENDER_COMFYUI: url = '', NIGHTRENDER_COMFYUI_RESTART: restart = '' } = process.env;

describe.skipIf(url === '')('ComfyUI itself (skipped if NIGHTRENDER_COMFYUI names none)', () => {
  comfyuiContract('a real ComfyUI', async () => url);
  renderServiceContract('a real ComfyUI', open);
  it.skipIf(restart === '')(
    'renders a night through kills, restarts and lost answers (skipped if NIGHTRENDER_COMFYUI_RESTART has no command)',
    () => comfyuiNight({ url, restart: async () => void (await promisify(exec)(restart)) }, 200),
  );
});

/**
 * Connects to ComfyUI, which is busy with another job first. Jobs of this test are recognized by their
 * colour.
 */
async function open(ending: Parameters<OpenWorld>[0]): ReturnType<OpenWorld> {
  const colour = randomInt(0x1000000);
  const before = randomUUID();
  await post('/prompt', { prompt: sleeping(0, before, 60), prompt_id: before });
  const workflow = ending === 'failure' ? failing(1, 'x') : sleeping(1, 'x', 0.5);
  const { dialect, ...world } = openComfyui(url, workflow, colour);
  onTestFinished(async () => {
    for (const id of [before, ...(await jobsOf(colour)).map((job) => job.id)]) await stop(id);
  });
  const until = (states: string[]): Promise<void> =>
    expect
      .poll(async () => (await jobsOf(colour)).map(({ state }) => state))
      .toContainEqual(expect.toBeOneOf(states));
  return {
    ...world,
    picture: { bytes: expect.any(Uint8Array) as Uint8Array },
    dialect: { ...dialect, complaint: 'Intentional sync execution error for testing' },
    begin: async () => {
      await stop(before);
      await until(['running', 'ended']);
    },
    complete: () => until(['ended']),
    fail: () => until(['ended']),
    scenesTaken: async () => (await jobsOf(colour)).map(() => colour),
  };
}

async function stop(id: string): Promise<void> {
  const isThere = async (): Promise<boolean> => {
    await post('/queue', { delete: [id] });
    await post('/interrupt', { prompt_id: id });
    return (await (await fetch(`${url}/queue`)).text()).includes(id);
  };
  await expect.poll(isThere).toBe(false);
}

type Item = [number: number, id: string, workflow: Workflow];

async function jobsOf(colour: number): Promise<{ id: string; state: string }[]> {
  const get = async (path: string): Promise<unknown> => (await fetch(url + path)).json();
  const { queue_running, queue_pending } = (await get('/queue')) as Record<string, Item[]>;
  const ended = Object.values((await get('/history')) as Record<string, { prompt: Item }>).map(
    ({ prompt }) => prompt,
  );
  const jobs = { running: queue_running ?? [], waiting: queue_pending ?? [], ended };
  return Object.entries(jobs).flatMap(([state, items]) =>
    items.filter(([, , { 1: node }]) => node?.inputs['color'] === colour).map(([, id]) => ({ id, state })),
  );
}

async function post(path: string, body: object): Promise<void> {
  await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
}
