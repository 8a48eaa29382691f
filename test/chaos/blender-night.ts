/**
 * A night of jobs for Blender, whose process is killed again and again, with one scene that hangs and one that uses up
 * all memory: `node dist/test/chaos/blender-night.js --jobs 1000 --kill-every 20` prints the results. It exits with 1
 * if a job was lost or pictures of one scene and seed differ.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { packageFile } from '../../src/lib/files/package-file.ts';

interface NightOptions {
  jobs: number;
  killEveryMs: number;
  /** Memory limit of Blender's worker with all its processes. */
  memory: string;
}

export interface NightResult {
  jobs: number;
  completed: number;
  /** Jobs that did not complete, except for the two that must fail. */
  lost: string[];
  hanging: string;
  eating: string;
  kills: number;
  /**
   * Number of renderings beyond the first of the same scene and seed, and number of scenes and seeds whose pictures
   * differ.
   */
  repeated: number;
  unequal: number;
  maxMegabytes: number;
  seconds: number;
}

const key = 'key-of-the-night';
const scenes = [
  'a red ball on a blue table',
  'two green trees beside a house',
  'a white cat in the snow',
  'three yellow boats on a lake at sunset',
  'a castle under the moon',
  'a robot in front of a tower',
  'a windmill in a field',
];

export async function blenderNight({ jobs, killEveryMs, memory }: NightOptions): Promise<NightResult> {
  const begunAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'nightrender-blender-night-'));
  const { url, child } = await startService(folder, memory);
  const result = { jobs, completed: 0, lost: [] as string[], hanging: '', eating: '', kills: 0 };
  const over = new AbortController();
  let maxMegabytes = 0;
  const watching = (async () => {
    const seenAt = new Map<number, number>();
    while (!over.signal.aborted) {
      await sleep(200);
      for (const pid of descendants(child.pid ?? 0).filter((each) => nameOf(each) === 'blender')) {
        maxMegabytes = Math.max(maxMegabytes, megabytesOf(pid));
        const age = performance.now() - (seenAt.get(pid) ?? performance.now());
        if (!seenAt.has(pid)) seenAt.set(pid, performance.now());
        if (age < killEveryMs) continue;
        orNothing(() => process.kill(pid, 'SIGKILL'));
        result.kills += 1;
      }
    }
  })();
  const small = { width: 128, height: 128, samples: 2 };
  // Every scene comes twice with the same seed.
  const inputs = Array.from({ length: jobs }, (_, index) => {
    const half = index % Math.ceil(jobs / 2);
    return { scene: scenes[half % scenes.length], seed: half, ...small };
  });
  const middle = Math.floor(jobs / 2);
  const ids = await Promise.all(inputs.slice(0, middle).map((input) => submit(url, input)));
  const hanging = await submit(url, { script: 'hangs.py', ...small }, { executionTimeout: killEveryMs / 2 });
  const eating = await submit(url, { script: 'eats.py', ...small });
  ids.push(...(await Promise.all(inputs.slice(middle).map((input) => submit(url, input)))));
  const pictures = new Map<string, Set<string>>();
  for (const [index, id] of ids.entries()) {
    const job = await ended(url, id);
    const [picture] = job.output ?? [];
    if (job.status !== 'COMPLETED' || picture === undefined) {
      result.lost.push(`${id}: ${job.status} ${job.error ?? ''}`);
      continue;
    }
    result.completed += 1;
    const name = `${inputs[index]?.scene ?? ''} ${inputs[index]?.seed ?? ''}`;
    const digest = createHash('sha256').update(picture.rendered_image).digest('hex');
    pictures.set(name, (pictures.get(name) ?? new Set()).add(digest));
  }
  result.hanging = (await ended(url, hanging)).status;
  result.eating = (await ended(url, eating)).error ?? 'it ended well';
  over.abort();
  await watching;
  child.kill('SIGTERM');
  return {
    ...result,
    repeated: jobs - pictures.size,
    unequal: [...pictures.values()].filter((digests) => digests.size > 1).length,
    maxMegabytes: Math.round(maxMegabytes),
    seconds: Math.round((performance.now() - begunAt) / 1_000),
  };
}

async function startService(folder: string, memory: string) {
  mkdirSync(join(folder, 'scripts'));
  writeFileSync(join(folder, 'scripts/hangs.py'), 'while True: pass\n');
  writeFileSync(
    join(folder, 'scripts/eats.py'),
    "kept = []\nwhile True: kept.append(bytearray(b'x') * 5_000_000)\n",
  );
  const endpoint = {
    name: 'Blender',
    quickDeploy: 'blender',
    blender: { scripts: './scripts' },
    memory,
    retries: 3,
  };
  const file = { port: 0, retention: '12h', limits: { maxQueued: 100_000 }, endpoints: [endpoint] };
  writeFileSync(join(folder, 'service.yaml'), JSON.stringify(file));
  const program = packageFile('dist/nightrender.cjs');
  const child = spawn(process.execPath, [program, 'serve', 'service.yaml', '--json', '--data', 'data'], {
    cwd: folder,
    env: { ...process.env, NIGHTRENDER_API_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { url } = JSON.parse(line) as { url?: string };
    if (url !== undefined) return { url, child };
  }
  throw new Error('the service did not start');
}

interface Job {
  id: string;
  status: string;
  error?: string;
  output?: { rendered_image: string }[];
}

async function ask(url: string, body?: object): Promise<Job> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  return (await (await fetch(url, init)).json()) as Job;
}

async function submit(url: string, input: object, policy = {}): Promise<string> {
  return (await ask(`${url}/v2/blender/run`, { input, policy })).id;
}

async function ended(url: string, id: string): Promise<Job> {
  for (;;) {
    const job = await ask(`${url}/v2/blender/status-sync/${id}`);
    if (!job.status.startsWith('IN_')) return job;
  }
}

function descendants(pid: number): number[] {
  const tasks = orNothing(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const children = tasks
    .flatMap((task) =>
      (orNothing(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')) ?? '').split(' '),
    )
    .filter(Boolean)
    .map(Number);
  return [...children, ...children.flatMap(descendants)];
}

function nameOf(pid: number): string {
  return orNothing(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()) ?? '';
}

function megabytesOf(pid: number): number {
  const status = orNothing(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
  return Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0) / 1_000;
}

/** Returns undefined if `read` throws, because a process may end at any moment. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      jobs: { type: 'string', default: '1000' },
      'kill-every': { type: 'string', default: '20' },
      memory: { type: 'string', default: '1500MB' },
    },
  });
  const killEveryMs = Number(values['kill-every']) * 1_000;
  const result = await blenderNight({ jobs: Number(values.jobs), killEveryMs, memory: values.memory });
  console.log(JSON.stringify(result, null, 2));
  process.exitCode = result.lost.length === 0 && result.unequal === 0 ? 0 : 1;
}
