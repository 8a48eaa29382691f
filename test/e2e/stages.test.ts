/**
 * Promise: a batch whose list is another batch sends the chosen saved pictures, as recorded and each once.
 */
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { firstTier, sampled } from '../fakes/tier.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { nightWith, pipeline } from './cli.ts';
import { completed, startStandIn } from './stand-ins.ts';

/** Returns a different picture for each level, as base64. */
async function tone(level: number): Promise<string> {
  const background = { r: level, g: 40, b: 80 };
  const picture = sharp({ create: { width: 64, height: 48, channels: 3, background } });
  return (await picture.png().toBuffer()).toString('base64');
}

const sha256Of = (base64: unknown): string =>
  createHash('sha256')
    .update(Buffer.from(String(base64), 'base64'))
    .digest('hex');

/**
 * Creates a batch with two scenes of each prompt and the scores of `tones`, and the stage that takes its list
 * from it.
 */
async function twoBatches(stage: string, tones: Record<string, number>) {
  const pictures = new Map<number, string>();
  for (const level of new Set(Object.values(tones))) pictures.set(level, await tone(level));
  const rendering = await startStandIn({
    plan: ({ scene, seed }) => {
      const level = tones[`${scene as string} ${seed as string}`];
      if (level === undefined) return { end: () => ({ status: 'FAILED', error: 'no such tone' }) };
      return { end: () => completed([{ image: pictures.get(level), score: level / 100 }]) };
    },
  });
  const large = await tone(200);
  const scaling = await startStandIn({ plan: () => ({ end: () => completed([{ image: large }]) }) });
  const render = pipeline(
    rendering.url,
    "input: {scene: '{{ prompt }}', seed: '{{ number }}'}\nretry: {attempts: 1}\n",
  )
    .replace('scenes.csv', 'list.csv')
    .replace('  dir: out\n', '  dir: out\n  values: {score: score}\n');
  const upscale = pipeline(
    scaling.url,
    "input: {image: '{{ picture | file_base64 }}', text: '{{ prompt }}', of: '{{ score }}'}\nconcurrency: 1\n",
  )
    .replace('manifest: scenes.csv\n', stage)
    .replace('dir: out', 'dir: large');
  const rows = Object.keys(tones)
    .map((key) => key.split(' '))
    .map(([prompt, number]) => `${prompt}${number},${prompt},${number}`);
  const night = nightWith({
    'render.yaml': render,
    'upscale.yaml': upscale,
    'list.csv': `id,prompt,number\n${rows.join('\n')}\n`,
  });
  const start = (command: string, file: string, ...more: string[]) => night.start(command, file, ...more);
  return { night, start, rendering, scaling, tones, pictures };
}

const sent = (inputs: JsonObject[]) => inputs.map(({ text, of, image }) => [text, of, sha256Of(image)]);

firstTier.it('a stage sends the pictures that meet its condition, byte for byte as recorded', async () => {
  const { start, scaling, pictures } = await twoBatches(
    "scenes: {from: render.yaml, keep: 'score >= 0.6'}\n",
    {
      'owl 1': 50,
      'owl 2': 90,
      'fox 1': 60,
    },
  );
  await start('run', 'render.yaml').exits(0);
  await start('run', 'upscale.yaml').exits(0);
  expect(sent(scaling.inputs)).toEqual([
    ['owl', 0.9, sha256Of(pictures.get(90))],
    ['fox', 0.6, sha256Of(pictures.get(60))],
  ]);
  const [row] = await start('list', 'upscale.yaml', '--json').lines<{
    id: string;
    columns: JsonObject;
    source: string;
  }>();
  expect(row).toMatchObject({
    id: 'owl2',
    source: 'render.yaml: scene owl2',
    columns: {
      prompt: 'owl',
      number: '2',
      score: 0.9,
      picture: expect.stringMatching(/^out\/images\/.*\.png$/) as string,
    },
  });
  // A second run sends nothing.
  await start('run', 'upscale.yaml').exits(0);
  expect(scaling.inputs).toHaveLength(2);
});

firstTier.it(
  'a stage follows changes of the batch before: new pictures, pictures rendered again, and pictures no longer chosen',
  async () => {
    const { night, start, rendering, scaling, tones, pictures } = await twoBatches(
      "scenes: {from: render.yaml, keep: 'score >= 0.6'}\n",
      {
        'owl 1': 70,
        'owl 2': 90,
        'fox 1': 60,
      },
    );
    await start('run', 'render.yaml').exits(0);
    await start('run', 'upscale.yaml').exits(0);
    const saved = readdirSync(night.path('large/images'));
    expect(saved).toHaveLength(3);

    // One scene is rendered again with a new picture, and one is no longer good enough.
    tones['owl 1'] = 75;
    pictures.set(75, await tone(75));
    tones['owl 2'] = 10;
    pictures.set(10, await tone(10));
    await start('retry', 'render.yaml', '--id', 'owl1', '--id', 'owl2', '--again').exits(0);
    await start('run', 'render.yaml').exits(0);
    await start('plan', 'upscale.yaml').prints(
      '1 edited since: the old files are kept; 1 no longer listed: their files are kept',
    );
    await start('run', 'upscale.yaml').exits(0);
    expect(sent(scaling.inputs).slice(3)).toEqual([['owl', 0.75, sha256Of(pictures.get(75))]]);
    expect(readdirSync(night.path('large/images'))).toHaveLength(4);

    // An edited stage renders only its own scenes again.
    const before = rendering.inputs.length;
    const text = night.read('upscale.yaml');
    night.write('upscale.yaml', text.replace('input: {', 'input: {scale: 4, '));
    await start('run', 'render.yaml', 'upscale.yaml').exits(0);
    expect(rendering.inputs).toHaveLength(before);
    expect(sent(scaling.inputs).slice(4)).toHaveLength(2);
  },
);

firstTier.it(
  'a stage names a picture as the batch before did, with its own suffix, and a stage that began earlier keeps its names',
  async () => {
    const stage = 'scenes: {from: render.yaml, matrix: {scale: [2, 4]}}\n';
    const { night, start, scaling } = await twoBatches(stage, { 'owl 1': 70, 'fox 1': 60 });
    night.write('list.csv', 'prompt,number\nowl,1\nfox,1\n');
    night.write(
      'upscale.yaml',
      night.read('upscale.yaml').replace('input: {', "input: {scale: '{{ scale }}', "),
    );
    const named = (file: string, dir: string) => {
      night.write(file, night.read('upscale.yaml').replace('dir: large', `dir: ${dir}`));
      return async () => {
        await start('run', file).exits(0);
        return readdirSync(night.path(dir, 'images'));
      };
    };
    await start('run', 'render.yaml').exits(0);
    const [fox = '', owl = ''] = readdirSync(night.path('out/images'));
    expect([fox, owl].join()).toMatch(/^fox-[0-9a-f]{6}\.png,owl-[0-9a-f]{6}\.png$/);
    const expected = [fox, owl].flatMap((file) =>
      ['2', '4'].map((scale) => file.replace('.png', `-${scale}.png`)),
    );
    expect(await named('upscale.yaml', 'large')()).toEqual(expected);
    // This stage began when stages named pictures by the id alone.
    const old = named('old.yaml', 'old');
    await start('run', 'old.yaml', '--limit', '1').exits(0);
    editCheckpoint(night.path('old'), "UPDATE batch SET value = json_set(value, '$.names', 'sent')");
    const [first = ''] = readdirSync(night.path('old/images'));
    const names = await old();
    expect(names).toContain(first);
    expect(names.filter((name) => /^[0-9a-f]{12}-[24]\.png$/.test(name))).toHaveLength(3);
    expect(scaling.inputs).toHaveLength(8);
  },
);

firstTier.it('a stage takes the best of each group once all of its scenes are settled', async () => {
  const stage = 'scenes: {from: render.yaml, best: {of: prompt, by: score}}\n';
  const { night, start, scaling } = await twoBatches(stage, {
    'owl 1': 70,
    'owl 2': 90,
    'fox 1': 60,
    'fox 2': 60,
  });
  const list = night.read('list.csv');
  // A failed scene is settled.
  night.write('list.csv', `${list}bat1,bat,1\n`);
  expect((await start('run', 'render.yaml', '--limit', '4')).code).not.toBe(2);
  const half = await start('plan', 'upscale.yaml', '--json');
  expect(half.stdout + half.stderr).toMatch(/groups? of best waits? for scenes that are not settled/);
  await start('run', 'render.yaml').exits(3);
  const run = await start('run', 'upscale.yaml').exits(0);
  expect(run.stdout + run.stderr).toContain(
    'render.yaml: 1 scene has no result (1 failed) and is skipped here',
  );
  const rows = await start('list', 'upscale.yaml', '--json').lines<{ id: string }>();
  expect(rows.map(({ id }) => id)).toEqual(['owl2', 'fox1']);
  expect(scaling.inputs).toHaveLength(2);
});

firstTier.it('a stage takes the scenes that were starred, and says which ids have no picture', async () => {
  const { night, start } = await twoBatches('scenes: {from: render.yaml, ids: starred.txt}\n', {
    'owl 1': 70,
    'fox 1': 60,
  });
  night.write('starred.txt', 'fox1\nbear1\n');
  await start('run', 'render.yaml').exits(0);
  const run = await start('run', 'upscale.yaml').exits(0);
  expect(run.stdout + run.stderr).toContain(
    'render.yaml: 1 id of ids has no saved result (the first is bear1)',
  );
  expect(readdirSync(night.path('large/images'))).toHaveLength(1);
});

firstTier.it('a stage without pictures of its own passes the picture on to the next stage', async () => {
  const { night, start, scaling, pictures } = await twoBatches(
    "scenes: {from: score.yaml, keep: 'good > 4'}\n",
    {
      'owl 1': 70,
      'fox 1': 60,
    },
  );
  const scoring = await startStandIn({
    plan: ({ name }) => ({ end: () => completed({ good: name === 'owl' ? 5 : 3 }) }),
  });
  const score = pipeline(scoring.url, "input: {image: '{{ picture | file_base64 }}', name: '{{ prompt }}'}\n")
    .replace('manifest: scenes.csv\n', 'scenes: {from: render.yaml}\n')
    .replace('  dir: out\n', '  dir: score\n  image: none\n  values: {good: good}\n');
  night.write('score.yaml', score);
  night.write('upscale.yaml', night.read('upscale.yaml').replace('{{ score }}', '{{ good }}'));
  for (const file of ['render.yaml', 'score.yaml', 'upscale.yaml']) {
    await start('run', file).exits(0);
  }
  expect(sent(scaling.inputs)).toEqual([['owl', 5, sha256Of(pictures.get(70))]]);
});

firstTier.it('a stage sends no picture that differs from its record', async () => {
  const { night, start, scaling } = await twoBatches('scenes: {from: render.yaml}\n', {
    'owl 1': 70,
    'fox 1': 60,
  });
  await start('run', 'render.yaml').exits(0);
  const [first = '', second = ''] = readdirSync(night.path('out/images'));
  writeFileSync(night.path('out/images', first), readFileSync(night.path('out/images', second)));
  rmSync(night.path('out/images', second));
  await start('run', 'upscale.yaml').exits(3);
  expect(scaling.inputs).toHaveLength(0);
  await start('list', 'upscale.yaml').prints(
    /file-changed: the file "out\/images\/.*" has changed since .* run `nightrender verify render.yaml`/,
  );
});

const refused: [stage: string, words: string][] = [
  ['scenes: {from: upscale.yaml}\n', 'upscale.yaml:1:16: this is the same file'],
  ['scenes: {from: nowhere.yaml}\n', 'nowhere.yaml: no such file'],
  [
    "scenes: {from: render.yaml, keep: 'scor > 1'}\n",
    '"scor" at character 1 is no column; did you mean score?',
  ],
  ['scenes: {from: render.yaml, best: {of: promt, by: score}}\n', 'did you mean prompt?'],
  [
    'scenes: {from: render.yaml, best: {of: score, by: score}}\n',
    'no scene has score before it is settled; expected a column or prompt',
  ],
  ['scenes: {from: render.yaml, ids: no.txt}\n', 'no.txt: there is no such file'],
  ["scenes: {keep: 'score > 1', seeds: 2}\nmanifest: list.csv\n", '`from` as well'],
  [
    'scenes: {from: render.yaml}\nmanifest: list.csv\n',
    'there is scenes.from as well; expected one of the two',
  ],
  ["scenes: {from: render.yaml, keep: 'score > 5'}\n", 'none of the results of that batch is chosen'],
];

it.each(sampled(refused, { ms: 130, least: 3 }))('refuses %s', async (stage, words) => {
  const { start, scaling } = await twoBatches(stage, { 'owl 1': 70 });
  await start('run', 'render.yaml').exits(0);
  await start('run', 'upscale.yaml').fails(2, words);
  expect(scaling.inputs).toHaveLength(0);
});

firstTier.it(
  'refuses lists that are taken from each other, a folder that two share, and a batch that has not begun',
  async () => {
    const { night, start } = await twoBatches('scenes: {from: render.yaml}\n', { 'owl 1': 70 });
    await start('run', 'upscale.yaml').warns(
      'upscale.yaml:1:16: render.yaml has not begun, so it has no results yet; `nightrender run render.yaml upscale.yaml` runs both, one after the other',
    );
    const render = night.read('render.yaml');
    night.write('render.yaml', render.replace('manifest: list.csv', 'scenes: {from: upscale.yaml}'));
    await start('run', 'upscale.yaml').warns(
      'these files take their lists from each other: upscale.yaml from render.yaml from upscale.yaml',
    );
    night.write('render.yaml', render.replace('dir: out', 'dir: large'));
    await start('run', 'upscale.yaml').warns('render.yaml has the same output.dir');
  },
);

firstTier.it(
  'the plan of a chain that has not begun says how many scenes each stage sends at most',
  async () => {
    const stage = 'scenes: {from: render.yaml, matrix: {scale: [2, 4]}}\n';
    const { night, start, scaling } = await twoBatches(stage, { 'owl 1': 70, 'fox 1': 60, 'bat 1': 50 });
    const text = night.read('upscale.yaml');
    night.write('upscale.yaml', text.replace('input: {', "input: {scale: '{{ scale }}', "));
    await start('plan', 'render.yaml', 'upscale.yaml').exits(
      0,
      'A run of upscale.yaml would submit up to 6 scenes once render.yaml has their results.',
      'Together they would submit 3 scenes; up to 6 scenes more, as results come in.',
    );
    await start('run', 'render.yaml', '--limit', '1').exits(0);
    const halfway = await start('plan', 'render.yaml', 'upscale.yaml', '--json').lines<{
      upTo?: number;
      counts: { waiting: number };
    }>();
    expect(halfway.map(({ upTo, counts }) => [counts.waiting, upTo])).toEqual([
      [2, undefined],
      [2, 4],
    ]);
    await start('run', 'render.yaml', 'upscale.yaml').exits(0);
    expect(scaling.inputs).toHaveLength(6);
  },
);

firstTier.it('names the batch with the damaged checkpoint, and sends nothing', async () => {
  const { night, start, scaling } = await twoBatches('scenes: {from: render.yaml}\n', { 'owl 1': 70 });
  await start('run', 'render.yaml').exits(0);
  editCheckpoint(night.path('out'), "UPDATE scenes SET columns = '{'");
  await start('run', 'upscale.yaml').fails(
    2,
    /^upscale.yaml:1:16: the batch of render.yaml cannot be read: .* `nightrender verify render.yaml --repair`/m,
  );
  expect(scaling.inputs).toHaveLength(0);
});

firstTier.it('reports missing keys of the bucket with the pictures before anything is sent', async () => {
  const { night, start, scaling } = await twoBatches('scenes: {from: render.yaml}\n', { 'owl 1': 70 });
  await start('run', 'render.yaml').exits(0);
  const place = JSON.stringify({ url: 's3://night/r/', batch: 'b' });
  editCheckpoint(
    night.path('out'),
    `UPDATE batch SET value = json_set(value, '$.pictures', json('${place}'))`,
  );
  for (const command of ['plan', 'run'])
    await start(command, 'upscale.yaml').warns('s3://night/r/: the variable AWS_ACCESS_KEY_ID is not set');
  expect(scaling.inputs).toHaveLength(0);
});

firstTier.it('a stage of a stage has each column once', async () => {
  const { night, start, scaling } = await twoBatches('scenes: {from: render.yaml}\n', { 'owl 1': 70 });
  const third = night.read('upscale.yaml').replaceAll('render.yaml', 'upscale.yaml');
  night.write('third.yaml', third.replace('dir: large', 'dir: third'));
  for (const file of ['render.yaml', 'upscale.yaml', 'third.yaml']) await start('run', file).exits(0);
  const [header = ''] = (await start('list', 'third.yaml', '--csv')).stdout.split('\n');
  const names = header.split(',');
  expect(names).toEqual([...new Set(names)]);
  expect(scaling.inputs.map(({ image }) => sha256Of(image))).toEqual([
    sha256Of(await tone(70)),
    sha256Of(await tone(200)),
  ]);
});
