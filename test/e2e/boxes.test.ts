/**
 * Promise: three machines serve one endpoint. Cut cables, kills and a restart of the service lose no job, and
 * no job gets stuck.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { workerEnvironment } from '../../src/service/workloads/worker-environment.ts';
import { random } from '../fakes/tier.ts';
import { folderWith, nightrender, Program, root, testKey } from './cli.ts';

const boxes = [1, 2, 3] as const;
type Box = (typeof boxes)[number];
const net = `nr${process.pid}`;
const host = '10.77.31.1';
const jobCount = 150;

/**
 * Creates a network namespace for each machine, connected by a bridge. Returns false if this is not possible
 * here.
 */
function plug(): boolean {
  const tried = spawnSync('ip', ['link', 'add', net, 'type', 'bridge']);
  if (tried.status !== 0) return false;
  onTestFinished(() => {
    for (const box of boxes) spawnSync('ip', ['netns', 'del', `${net}-${box}`]);
    spawnSync('ip', ['link', 'del', net]);
  });
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' });
  ip('addr', 'add', `${host}/24`, 'dev', net);
  ip('link', 'set', net, 'up');
  for (const box of boxes) {
    const space = `${net}-${box}`;
    ip('netns', 'add', space);
    ip('link', 'add', `${net}v${box}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
    ip('link', 'set', `${net}v${box}`, 'master', net, 'up');
    ip('-n', space, 'addr', 'add', `10.77.31.1${box}/24`, 'dev', 'eth0');
    ip('-n', space, 'link', 'set', 'eth0', 'up');
    ip('-n', space, 'link', 'set', 'lo', 'up');
  }
  return true;
}

function cable(box: Box, state: 'up' | 'down'): void {
  execFileSync('ip', ['link', 'set', `${net}v${box}`, state]);
}

const program = `
process.stdin.setEncoding('utf8').on('data', async (text) => {
  for (const line of text.split('\\n').filter(Boolean)) {
    const { id, input } = JSON.parse(line);
    await new Promise((resolve) => setTimeout(resolve, input.sleep * 1000));
    console.log(JSON.stringify({ id, output: { worker: 'ours', input } }));
  }
});`;

class Farm {
  readonly #cwd = folderWith({
    'service.yaml': `limits: {silence: 15s}\nendpoints:\n  - {name: Farm, remote: true, retries: 10}\n`,
    'program.mjs': program,
  });
  readonly #workers = new Map<string, ChildProcess>();
  #service: Program | undefined;
  #port = '0';
  #isOver = false;
  url = '';

  async serve(): Promise<void> {
    const args = [
      'serve',
      'service.yaml',
      '--json',
      '--host',
      host,
      '--insecure',
      '--port',
      this.#port,
      '--data',
      'data',
    ];
    this.#service = new Program(args, { cwd: this.#cwd, env: { NIGHTRENDER_API_KEY: testKey } });
    this.url = String((await this.#service.event('serving'))['url']);
    this.#port = new URL(this.url).port;
  }

  async endService(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#service?.child.kill(signal);
    await this.#service?.finish();
  }

  /** Starts the workers. Each is restarted whenever it ends, as systemd does. */
  async addWorkers(): Promise<void> {
    const key = (
      await nightrender(['keys', 'add', 'boxes', '--kind', 'worker', '--data', 'data'], { cwd: this.#cwd })
    ).stdout.trim();
    onTestFinished(() => {
      this.#isOver = true;
      for (const child of this.#workers.values()) child.kill('SIGKILL');
    });
    const nightrenderWork = [process.execPath, resolve(root, 'dist/nightrender.cjs'), 'work', this.url];
    const settings = ['--insecure', '--endpoint', 'farm', '--allow', 'command:node program.mjs'];
    const ours = (box: string) => [...nightrenderWork, ...settings, '--data', box];
    const foreign = ['python3', resolve(import.meta.dirname, '../fixtures/pull-worker.py')];
    this.#keepUp(1, 'ours-1', ours('box1'), { NIGHTRENDER_WORKER_KEY: key });
    this.#keepUp(2, 'ours-2', ours('box2'), { NIGHTRENDER_WORKER_KEY: key });
    for (const [box, id] of [[2, 'public-2'] as const, [3, 'public-3'] as const]) {
      const identity = { endpointId: 'farm', workerId: id, gpuName: null, baseUrl: this.url };
      this.#keepUp(box, id, foreign, workerEnvironment({ ...identity, workerKey: key }));
    }
  }

  #keepUp(box: Box, name: string, command: string[], env: Record<string, string>): void {
    if (this.#isOver) return;
    const child = spawn('ip', ['netns', 'exec', `${net}-${box}`, ...command], {
      cwd: this.#cwd,
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    this.#workers.set(name, child);
    child.once('exit', () => this.#keepUp(box, name, command, env));
  }

  async killWorker(name: string): Promise<void> {
    const child = this.#workers.get(name);
    child?.kill('SIGKILL');
    if (child !== undefined) await once(child, 'exit');
  }

  get workerNames(): string[] {
    return [...this.#workers.keys()];
  }

  async ask(path: string, body?: object): Promise<Record<string, unknown>> {
    const answer = await fetch(`${this.url}/v2/farm/${path}`, {
      headers: { Authorization: `Bearer ${testKey}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Record<string, unknown>;
  }

  async jobs(): Promise<Record<string, number>> {
    return (await this.ask('health'))['jobs'] as Record<string, number>;
  }

  async untilCompleted(count: number): Promise<void> {
    await expect
      .poll(async () => (await this.jobs())['completed'], { timeout: 120_000, interval: 100 })
      .toBeGreaterThanOrEqual(count);
  }
}

it('the service does every job once, whatever is cut, killed or restarted (skipped if no network namespaces can be made)', async ({
  skip,
}) => {
  if (!plug()) return skip();
  const farm = new Farm();
  await farm.serve();
  await farm.addWorkers();
  const ids = new Map<string, number>();
  for (let number = 0; number < jobCount; number++) {
    const { id } = await farm.ask('run', { input: { number, sleep: 0.1 + random(4) / 10 } });
    ids.set(String(id), number);
  }
  let cut: Box | undefined;
  for (let done = 10; done < jobCount; done += 14) {
    await farm.untilCompleted(done);
    const way = random(4);
    if (cut !== undefined) cable(cut, 'up');
    cut = undefined;
    if (way === 0) await farm.endService(random(2) === 0 ? 'SIGTERM' : 'SIGKILL').then(() => farm.serve());
    else if (way === 1) await farm.killWorker(farm.workerNames[random(farm.workerNames.length)] ?? '');
    else cable((cut = boxes[random(3)] ?? 1), 'down');
  }
  if (cut !== undefined) cable(cut, 'up');
  await farm.untilCompleted(jobCount);
  const jobs = await farm.jobs();
  expect(jobs).toMatchObject({ completed: jobCount, failed: 0, inProgress: 0, inQueue: 0 });
  for (const [id, number] of ids) {
    const { status, output } = await farm.ask(`status/${id}`);
    expect([status, output]).toEqual([
      'COMPLETED',
      { worker: expect.any(String), input: expect.objectContaining({ number }) },
    ]);
  }
}, 240_000);
