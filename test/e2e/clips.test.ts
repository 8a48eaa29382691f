/** Promise: a night of clips is as safe as a night of pictures: nothing is paid twice, a damaged clip is kept, and every command knows clips. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { clip } from '../fakes/clips.ts';
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { emptyImage, savingClips } from '../fakes/comfyui-workflows.ts';
import { falKey, startFal } from '../fakes/fal-service.ts';
import { MemoryStore } from '../fakes/memory-store.ts';
import { rest } from '../fakes/tier.ts';
import { type Night, nightWith, withKey } from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { completed, startStandIn } from './stand-ins.ts';

const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0;

/** Cuts answers off in the midst of them and never ends them. Resolves when this number of them is on its way. */
class Stall {
  #left: number;
  #begun = (): void => undefined;
  readonly begun = new Promise<void>((resolve) => (this.#begun = resolve));

  constructor(count: number) {
    this.#left = count;
  }

  send(response: ServerResponse, content: Buffer): void {
    response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, -1_000));
    if (--this.#left === 0) this.#begun();
  }
}

interface ClipService {
  /** Lines of pipeline.yaml about the service. */
  yaml: string;
  files: Record<string, string>;
  env?: Record<string, string>;
  /** Hosts of the clips. */
  hosts?: string[];
  /** Ids of all jobs that were accepted. */
  jobs(): string[];
  /** Lets all downloads end from now on. */
  resume(): void;
  /** Resolves when clips are on their way that will never come. */
  stalled: Promise<void>;
}

/** Each clip after the first `whole` is never sent to its end, until `resume`. */
const services: Record<string, (whole: number) => Promise<ClipService>> = {
  ComfyUI: async (whole) => {
    const comfy = await startComfyStandIn();
    const stall = new Stall(1);
    let views = 0;
    comfy.meet = (path, response) => {
      if (!path.startsWith('/view') || ++views <= whole) return false;
      stall.send(response, clip('MP4', { bytes: 50_000 }));
      return true;
    };
    return {
      yaml: `endpoint: {speaks: comfyui, baseUrl: '${comfy.url}', workflow: flow.json, set: {'1.color': '{{ n }}'}}`,
      files: { 'flow.json': JSON.stringify(savingClips(emptyImage(1), ['SaveVideo'])) },
      jobs: () => comfy.accepted.map(({ id }) => id),
      resume: () => (comfy.meet = undefined),
      stalled: stall.begun,
    };
  },
  fal: async (whole) => {
    // All slots: a submission that the kill meets may be paid for twice, because its id is not known yet.
    const stall = new Stall(concurrency);
    let [downloads, isStalling] = [0, true];
    const host = createServer(({ url = '' }, response) => {
      const content = clip('MP4', { bytes: 50_000, mark: url });
      if (isStalling && ++downloads > whole) stall.send(response, content);
      else response.end(content);
    });
    const address = await listenOnLoopback(host);
    const service = await startFal({
      plan: ({ seed }) => ({ pictures: [`${address}/${inText(seed)}.mp4`] }),
    });
    return {
      yaml: `endpoint: {speaks: fal, baseUrl: '${service.url}', id: fal-ai/wan, apiKey: "\${NIGHTRENDER_API_KEY}"}
input: {prompt: waves, seed: '{{ n }}'}`,
      files: {},
      env: { NIGHTRENDER_API_KEY: falKey },
      hosts: [address],
      jobs: () => service.jobs.all.map(({ id }) => id),
      resume: () => (isStalling = false),
      stalled: stall.begun,
    };
  },
};

const count = 200;
const concurrency = 8;

rest.it.each(Object.keys(services))(
  '%s: 200 clips are paid once and all there after a kill while some were being received',
  async (name) => {
    const whole = 60;
    const service = await (services[name] as (whole: number) => Promise<ClipService>)(whole);
    const hosts = JSON.stringify(service.hosts ?? []);
    const night = nightWith({
      ...service.files,
      'scenes.csv': `id,n\n${Array.from({ length: count }, (_, n) => `s${n},${n}\n`).join('')}`,
      'pipeline.yaml': `manifest: scenes.csv
columns: {n: number}
concurrency: ${concurrency}
polling: {shortest: 10ms}
retry: {firstWait: 10ms, longestWait: 100ms}
output: {dir: out, media: video, hosts: ${hosts}}
report: {thumbnails: false}
${service.yaml}
`,
    }).with({ env: service.env ?? {} });
    const run = night.program('run', 'pipeline.yaml', '--json');
    await run.event('scene-saved', whole);
    await service.stalled;
    run.child.kill('SIGKILL');
    await run.finish();
    service.resume();
    await night.built('run', 'pipeline.yaml').exits(0, / {2}clips +out/);
    expect(new Set(service.jobs()).size).toBe(count);
    expect(service.jobs()).toHaveLength(count);
    expect(readdirSync(night.path('out/images'))).toHaveLength(count);
    const contents = new Set(readdirSync(night.path('out/images')).map((file) => sha256Of(night, file)));
    expect(contents.size).toBe(count);
    await night.verify().exits(0, `good      ${count}\n`);
  },
);

function sha256Of(night: Night, file: string): string {
  return createHash('sha256')
    .update(readFileSync(night.path('out/images', file)))
    .digest('hex');
}

rest.it('receives eight clips of 500 MB at a time in less than 200 MB of memory', async () => {
  const total = 500_000_000;
  const head = clip('MP4');
  // A box of free space up to the end.
  const box = Buffer.concat([Buffer.alloc(4), Buffer.from('free')]);
  box.writeUInt32BE(total - head.length);
  const start = Buffer.concat([head, box]);
  const part = Buffer.alloc(256 * 1024);
  let [held, isOneWhole] = [0, false];
  const host = createServer(({ url = '' }, response) => {
    response.writeHead(200, { 'content-length': total, etag: '"a"' }).write(start);
    const isWhole = url === '/0.mp4';
    // The others stop here, and stay in flight.
    const end = isWhole ? total : 30_000_000;
    let at = start.length;
    const send = (): void => {
      while (at < end) {
        const length = Math.min(part.length, end - at);
        at += length;
        if (!response.write(part.subarray(0, length))) return void response.once('drain', send);
      }
      if (isWhole) {
        isOneWhole = true;
        response.end();
      } else held += 1;
    };
    send();
  });
  const address = await listenOnLoopback(host);
  const service = await startStandIn({
    plan: ({ n }) => ({ end: () => completed({ video: `${address}/${inText(n)}.mp4` }) }),
  });
  const night = nightWith({
    'scenes.csv': `id,n\n${Array.from({ length: 8 }, (_, n) => `s${n},${n}\n`).join('')}`,
    'pipeline.yaml': clipBatch(service.url, `, hosts: ['${address}']`).replace('{{ scene }}', '{{ n }}'),
  }).with(withKey);
  const run = night.program('run', 'pipeline.yaml', '--json');
  await run.event('scene-saved');
  await expect.poll(() => [held, isOneWhole], { timeout: 60_000 }).toEqual([7, true]);
  const [, peakKb] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${run.child.pid}/status`, 'utf8')) ?? [];
  run.child.kill('SIGKILL');
  await run.finish();
  expect(Number(peakKb)).toBeLessThan(200_000);
  expect(readdirSync(night.path('out/images')).filter((file) => file.endsWith('.mp4'))).toEqual(['s0.mp4']);
});

function clipBatch(url: string, output = '', more = ''): string {
  return `manifest: scenes.csv
endpoint: {baseUrl: '${url}', id: clips, apiKey: "\${NIGHTRENDER_API_KEY}"}
input: {n: '{{ scene }}'}
concurrency: ${concurrency}
polling: {shortest: 10ms}
output: {dir: out, media: video${output}}
${more}`;
}

/** A service whose clips come in the answer. `cut` names scenes whose clips lack their end. */
async function clipNight(output = '', more = '') {
  const cut = new Set<string>();
  const service = await startStandIn({
    plan: ({ n }) => {
      const whole = clip('MP4', { mark: inText(n), seconds: 2 });
      const sent = cut.has(inText(n)) ? whole.subarray(0, -50) : whole;
      return { end: () => completed({ video: sent.toString('base64'), score: 0.5 }) };
    },
  });
  const night = nightWith({
    'scenes.csv': 'id,scene\na,waves\nb,dunes\nc,rain\n',
    'pipeline.yaml': clipBatch(service.url, output, more),
  }).with(withKey);
  return { service, night, cut };
}

function clipsIn(night: Night): string[] {
  return readdirSync(night.path('out/images')).toSorted();
}

rest.it('keeps a damaged clip, and renders it again only on demand', async () => {
  const { service, night, cut } = await clipNight();
  cut.add('dunes');
  await night
    .run()
    .fails(3, 'the scene has failed (bad-clip)')
    .prints(/ {2}clips +out/);
  expect(clipsIn(night)).toEqual(['a.mp4', 'b.mp4.damaged', 'c.mp4']);
  await night.run().exits(3);
  expect(service.inputs).toHaveLength(3);
  cut.clear();
  await night.retry().exits(0);
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(4);
  expect(clipsIn(night)).toEqual(['a.mp4', 'b.mp4', 'b.mp4.damaged', 'c.mp4']);
  await night.status().prints(/clips +3 files/);
  await night.do('export', 'set', '--to', 'imagefolder').prints('3 clips in set, as imagefolder');
});

rest.it('adopts, renames and moves clips, and pays for none again', async () => {
  const { service, night } = await clipNight();
  await night.run().exits(0);
  const before = clipsIn(night).map((file) => sha256Of(night, file));
  rmSync(night.path('out/checkpoint.sqlite'));
  for (const file of readdirSync(night.path('out')))
    if (file !== 'images') rmSync(night.path('out', file), { recursive: true });
  await night.run('--adopt').exits(0).warns('3 clips in the folder adopted for 3 scenes');
  if (hasFfmpeg) expect(existsSync(night.path('out/report/thumbnails'))).toBe(true);
  night.write('pipeline.yaml', clipBatch(service.url, ", name: 'takes/{{ id }}-x.mp4'"));
  await night.verify('--rename').exits(0, '3 files renamed.');
  expect(readdirSync(night.path('out/images/takes')).toSorted()).toEqual(['a-x.mp4', 'b-x.mp4', 'c-x.mp4']);
  const store = await MemoryStore.start();
  const away = night.with({ env: { ...withKey.env, ...store.env } });
  night.write(
    'pipeline.yaml',
    clipBatch(service.url, ", name: 'takes/{{ id }}-x.mp4', pictures: 's3://any/night/'"),
  );
  await away.verify('--move').exits(0, 'good      3\n');
  await away.verify('--deep').exits(0, 'good      3\n');
  await away.run().exits(0);
  expect(service.inputs).toHaveLength(3);
  const stored = [...store.objects].filter(([key]) => key.endsWith('.mp4'));
  expect(stored.map(([, { bytes }]) => createHash('sha256').update(bytes).digest('hex')).toSorted()).toEqual(
    before.toSorted(),
  );
});

rest.it('clips are the inputs of a stage, as base64 and by their addresses in a bucket', async () => {
  const store = await MemoryStore.start();
  const { night } = await clipNight();
  const inBucket = await clipNight(", pictures: 's3://any/clips/'");
  const next = await startStandIn({
    plan: () => ({ end: () => completed({ audio: clip('WAV').toString('base64') }) }),
  });
  const stage = `scenes: {from: pipeline.yaml}
endpoint: {baseUrl: '${next.url}', id: foley, apiKey: "\${NIGHTRENDER_API_KEY}"}
input: {video: INPUT}
polling: {shortest: 10ms}
output: {dir: sound, media: audio}
`;
  const env = { ...withKey.env, ...store.env };
  for (const [folder, input] of [
    [night, '"{{ picture | file_base64 }}"'],
    [inBucket.night, '"{{ picture }}"'],
  ] as const) {
    folder.write('stage.yaml', stage.replace('INPUT', input));
    await folder.with({ env }).start('run', 'pipeline.yaml', 'stage.yaml').exits(0);
    expect(readdirSync(folder.path('sound/images'))).toHaveLength(3);
  }
  const sent = next.inputs.map(({ video }) => inText(video));
  const waves = ['waves', 'dunes', 'rain'].map((mark) =>
    clip('MP4', { mark, seconds: 2 }).toString('base64'),
  );
  expect(sent.slice(0, 3).toSorted()).toEqual(waves.toSorted());
  const stored = [...store.objects.keys()].filter((key) => key.endsWith('.mp4'));
  expect(sent.slice(3).toSorted()).toEqual(stored.map((key) => `s3://${key.replace(/^\//, '')}`).toSorted());
});

it('check.decode refuses to start without ffmpeg, before anything is sent, and the plan says so', async () => {
  const { service, night } = await clipNight('', 'check: {decode: true}\n');
  const without = night.with({ env: { ...withKey.env, PATH: '' } });
  await without.plan().fails(2, '`check.decode` needs `ffmpeg`');
  await without.run().fails(2, '`check.decode` needs `ffmpeg`');
  expect(service.inputs).toEqual([]);
});

rest.it.skipIf(!hasFfmpeg)(
  'check.decode keeps a clip with a broken frame (skipped without ffmpeg)',
  async () => {
    const broken = clip('MP4', { seconds: 2, mark: 'dunes' });
    // The first frame is a header and raw macroblocks.
    const frame = broken.indexOf(Buffer.of(0x65), broken.indexOf('mdat'));
    broken.fill(0xff, frame + 1, frame + 400);
    const service = await startStandIn({
      plan: ({ n }) => {
        const sent = n === 'dunes' ? broken : clip('MP4', { mark: inText(n), seconds: 2 });
        return { end: () => completed({ video: sent.toString('base64') }) };
      },
    });
    for (const [decode, files] of [
      [true, ['a.mp4', 'b.mp4.damaged']],
      [false, ['a.mp4', 'b.mp4']],
    ] as const) {
      const night = nightWith({
        'scenes.csv': 'id,scene\na,waves\nb,dunes\n',
        'pipeline.yaml': clipBatch(service.url, '', `check: {decode: ${decode}}\n`),
      }).with(withKey);
      await night.run().exits(decode ? 3 : 0);
      expect(clipsIn(night)).toEqual(files);
    }
  },
);

function inText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
