/**
 * Promise: `verify --rename` gives saved pictures the names of the current settings, loses and pays nothing,
 * and is completed after a kill.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect } from 'vitest';
import { firstTier, rest, sampledUpTo } from '../fakes/tier.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { folderWith, type Night, nightWith, pipeline } from './cli.ts';
import { completed, startStandIn } from './stand-ins.ts';

const titles = ['Dawn', 'Noon', 'Dusk', 'Night'];

interface Named {
  night: Night;
  jobs: () => number;
  /** Sets `output.name` and the titles of the rows, which are not part of the input. */
  edit(name: string, titled?: string[]): void;
  /** Returns the widths of the pictures in the folder by name. The picture of row n is 16 + n pixels wide. */
  widths(): Promise<Record<string, number>>;
  files(): string[];
}

async function named(more = '', name = '{{ id }}'): Promise<Named> {
  const pngs = await Promise.all(titles.map((_, n) => png(16 + n)));
  const service = await startStandIn({
    plan: ({ n }) => ({ end: () => completed([{ rendered_image: pngs[Number(n)], seed: 7 }]) }),
  });
  const files = (to: string, titled: string[]) => ({
    'pipeline.yaml': pipeline(service.url, "input: {n: '{{ n }}'}\n").replace(
      '  dir: out\n',
      `  dir: out\n  name: "${to}"\n${more}`,
    ),
    'scenes.csv': `id,n,title\n${titled.map((title, n) => `s${n},${n},${title}`).join('\n')}\n`,
  });
  const night = nightWith(files(name, titles));
  await night.run('--quiet').exits(0);
  const list = (): string[] =>
    readdirSync(night.path('out/images'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.includes('.'))
      .toSorted();
  return {
    night,
    jobs: () => service.inputs.length,
    edit: (to, titled = titles) => {
      for (const [file, text] of Object.entries(files(to, titled))) night.write(file, text);
    },
    widths: async () => {
      const widths = list()
        .filter((file) => file.endsWith('.png'))
        .map(async (file) => [file, (await sharp(night.path('out/images', file)).metadata()).width] as const);
      return Object.fromEntries(await Promise.all(widths));
    },
    files: list,
  };
}

async function png(width: number): Promise<string> {
  const one = sharp({ create: { width, height: 16, channels: 3, background: { r: width, g: 9, b: 90 } } });
  return (await one.png().toBuffer()).toString('base64');
}

const beside = '  metadata: sidecar\n  formats: [{format: webp}, {format: jpeg, size: 16}]\n';

firstTier.it(
  'a rename shows its plan, renames the files with their sidecars, and sends nothing',
  async () => {
    const { night, jobs, edit, widths, files } = await named(beside);
    await night.do('plan').exits(0).printsNo('another name');
    edit('{{ title }}/{{ id }}');
    await night
      .do('plan')
      .exits(
        0,
        /4\s+saved\s+files\s+would\s+get\s+another\s+name\s+now\s+\(`output\.name`\):\s+s0\.png\s+would\s+be\s+Dawn\/s0\.png\.\s+They\s+keep\s+theirs;\s+`nightrender\s+verify\s+pipeline.yaml\s+--rename`\s+renames\s+them,\s+after\s+a\s+run\s+if\s+the\s+list\s+was\s+edited/,
      );
    await night.run('--quiet').exits(0);
    expect(Object.keys(await widths())).toEqual(['s0.png', 's1.png', 's2.png', 's3.png']);
    await night.verify('--rename').exits(0, '4 files renamed.');
    expect(await widths()).toEqual({
      'Dawn/s0.png': 16,
      'Noon/s1.png': 17,
      'Dusk/s2.png': 18,
      'Night/s3.png': 19,
    });
    expect(files().filter((file) => file.startsWith('Dawn'))).toEqual(
      ['s0-16.jpg', 's0.json', 's0.png', 's0.webp'].map((file) => `Dawn/${file}`),
    );
    expect(files()).toHaveLength(16);
    expect(night.read('out/report/results.csv')).toContain('images/Dawn/s0.png');
    await night.do('plan').exits(0).printsNo('another name');
    await night.verify().exits(0, /good +4/);
    await night.verify('--rename').exits(0, 'No file needed another name.');
    const before = night.read('out/report/summary.json');
    await night.run('--quiet').exits(0);
    expect(night.read('out/report/summary.json'), 'nothing has changed since').toBe(before);
    expect(jobs()).toBe(4);
  },
);

rest.it(
  'a rename exchanges names, changes only the case of a name, and keeps names apart that would be equal',
  async () => {
    const { night, jobs, edit, widths } = await named(beside, '{{ title }}');
    edit('{{ title }}', ['Noon', 'Dawn', 'dusk', 'Dawn']);
    await night.run('--quiet').exits(0);
    await night.verify('--rename').exits(0, '4 files renamed.');
    const found = await widths();
    expect(found).toMatchObject({ 'Noon.png': 16, 'Dawn.png': 17, 'dusk.png': 18 });
    const other = Object.keys(found).find((file) => /^Dawn-[0-9a-f]{6}\.png$/.test(file)) ?? '';
    expect(found[other]).toBe(19);
    // A picture that already has the name keeps it, whatever the order in which pictures were saved.
    await night.verify('--rename').exits(0, 'No file needed another name.');
    const [first = ''] = readFileSync(night.path('out/images/Noon.json'), 'utf8').split('"scene"').slice(1);
    expect(first).toContain('s0');
    await night.verify().exits(0, /good +4/);
    await night.run('--quiet').exits(0);
    expect([await widths(), jobs()]).toEqual([found, 4]);
  },
);

rest.it('a rename changes no file of others, and a missing picture keeps its name', async () => {
  const { night, edit, widths, files } = await named();
  edit('{{ title }}');
  for (const name of ['Dusk.png', 'Dusk.json', 'DUSK.webp']) {
    writeFileSync(night.path('out/images', name), 'mine');
    const before = files();
    await night
      .verify('--rename')
      .fails(
        2,
        `out/images/${name}: a picture or clip gets the name of this file, which is not on record; nothing was renamed`,
      );
    expect(files()).toEqual(before);
    rmSync(night.path('out/images', name));
  }
  renameSync(night.path('out/images/s1.png'), night.path('s1.png'));
  await night.verify('--rename').exits(0, '3 files renamed. 1 file kept its name');
  renameSync(night.path('s1.png'), night.path('out/images/s1.png'));
  expect(await widths()).toEqual({ 'Dawn.png': 16, 's1.png': 17, 'Dusk.png': 18, 'Night.png': 19 });
  await night.verify().exits(0, /good +4/);
});

rest.it(
  'a rename does not wait for a run, rejects contradicting options, and leaves a picture that a run was saving to the next run',
  async () => {
    const { night, edit } = await named();
    edit('{{ title }}');
    await night
      .verify('--rename', '--repair')
      .fails(2, '--rename: give --repair, --move and --rename one after');
    editCheckpoint(night.path('out'), "UPDATE attempts SET writing = '{' WHERE attempt = 1");
    await night
      .verify('--rename')
      .fails(2, '--rename: the last run crashed while it saved results; start the run once');
    editCheckpoint(night.path('out'), 'UPDATE attempts SET writing = NULL');
    edit('{{ shot }}');
    await night.verify('--rename').fails(2, /no name can be made for scene s0: there is no column "shot"/);
    await night.hold();
    await night.verify('--rename').exits(11);
  },
);

/** Kills the process before or after its nth call that renames or removes a file below a folder. */
const killer = `
const fs = require('node:fs');
let left = Number(process.env.KILL_AT);
const at = (path) => { if (String(path).startsWith(process.env.KILL_BELOW) && --left === 0) process.kill(process.pid, 'SIGKILL'); };
for (const name of ['rename', 'rm', 'mkdir']) {
  const call = fs.promises[name];
  fs.promises[name] = async (path, ...more) => { at(path); const result = await call(path, ...more); at(path); return result; };
}
require('node:module').syncBuiltinESMExports();
`;

rest.it(
  'a rename is finished by the next start after a kill at any call',
  async () => {
    const { night, jobs, edit, widths, files } = await named('  metadata: sidecar\n', '{{ title }}');
    const preload = join(folderWith({ 'kill.cjs': killer }), 'kill.cjs');
    let order = titles;
    let kills = 0;
    for (const call of sampledUpTo(40, { ms: 2_500 })) {
      // Each round moves the names on by one row.
      const [head = '', ...tail] = order;
      order = [...tail, head];
      edit('{{ title }}', order);
      await night.run('--quiet').exits(0);
      const env = {
        NODE_OPTIONS: `--require=${preload}`,
        KILL_AT: String(call),
        KILL_BELOW: night.path('out/images'),
      };
      const { code } = await night.with({ env }).built('verify', 'pipeline.yaml', '--rename');
      if (code === null) kills += 1;
      if (call % 3 === 0) await night.verify('--rename').exits(0);
      if (call % 3 === 1) await night.verify('--repair').exits(0);
      await night.run('--quiet').exits(0);
      const expected = Object.fromEntries(order.map((title, n) => [`${title}.png`, 16 + n]));
      expect(await widths(), `killed at call ${call}`).toEqual(expected);
      expect(files()).toHaveLength(8);
      const results = night.read('out/report/results.csv');
      for (const [n, title] of order.entries()) {
        expect(night.read(`out/images/${title}.json`)).toContain(`"s${n}"`);
        expect(results).toMatch(new RegExp(`^s${n},.*images/${title}\\.png`, 'm'));
      }
      await night.verify().exits(0, /good +4/);
      expect(jobs()).toBe(4);
    }
    expect(kills).toBeGreaterThan(0);
  },
  300_000,
);

rest.it(
  'a rename waits for a disk that is away after a kill',
  async () => {
    const { night, jobs, edit, widths } = await named('  metadata: sidecar\n', '{{ title }}');
    const preload = join(folderWith({ 'kill.cjs': killer }), 'kill.cjs');
    const below = night.path('out/images');
    let order = titles;
    for (const call of [1, 4, 9, 14]) {
      const [head = '', ...tail] = order;
      order = [...tail, head];
      edit('{{ title }}', order);
      await night.run('--quiet').exits(0);
      const env = { NODE_OPTIONS: `--require=${preload}`, KILL_AT: String(call), KILL_BELOW: below };
      await night.with({ env }).built('verify', 'pipeline.yaml', '--rename');
      renameSync(below, night.path('away'));
      mkdirSync(below);
      await night.do('plan').exits(0);
      await night.run('--quiet').exits(3);
      await night.verify('--rename').exits(0);
      await night.verify().exits(3, /missing +4/);
      rmSync(below, { recursive: true });
      renameSync(night.path('away'), below);
      await night.verify().exits(0, /good +4/);
      await night.verify('--rename').exits(0);
      await night.run('--quiet').exits(0);
      const expected = Object.fromEntries(order.map((title, n) => [`${title}.png`, 16 + n]));
      expect(await widths(), `killed at call ${call}`).toEqual(expected);
      const results = night.read('out/report/results.csv');
      for (const [n, title] of order.entries()) {
        expect(night.read(`out/images/${title}.json`)).toContain(`"s${n}"`);
        expect(results).toMatch(new RegExp(`^s${n},.*images/${title}\\.png`, 'm'));
      }
      await night.verify().exits(0, /good +4/);
    }
    expect(jobs()).toBe(4);
  },
  120_000,
);
