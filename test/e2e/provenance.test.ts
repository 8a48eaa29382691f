/** Promise: pictures record their provenance if requested, never with the key, and `explain` prints it. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { finishedNight, folderWith, nightWith, pipeline, serve, testKey } from './cli.ts';

const env = { NIGHTRENDER_API_KEY: testKey };
const list = 'id,scene\na,"Sea \u001B[31mred\u202E"\nb,Hills\n';

it.each(['embed', 'sidecar'])(
  '%s: every picture records its provenance, exactly as in the checkpoint',
  async (metadata) => {
    const { url } = await serve(folderWith({}));
    const yaml = pipeline(url, 'input: {scene: "{{ scene }}", width: 64, height: 48}\n');
    const night = nightWith({
      'pipeline.yaml': yaml.replace('  dir: out\n', `  dir: out\n  metadata: ${metadata}\n`),
      'scenes.csv': list,
    });
    await night.with({ env }).run('--quiet').exits(0);
    await night.verify().exits(0);
    expect(night.has('out/images/a.json')).toBe(metadata === 'sidecar');
    const { stdout } = await night.start('explain', 'out/images/a.png', '--json');
    const told = JSON.parse(stdout) as { sha256: string; provenance: { jobId: string } };
    expect(told).toMatchObject({
      format: 'png',
      from: metadata === 'embed' ? 'embedded' : 'sidecar',
      provenance: {
        scene: 'a',
        prompt: 'Sea \u001B[31mred\u202E',
        input: { width: 64 },
        endpoint: { baseUrl: url },
      },
    });
    const results = night.read('out/report/results.csv');
    expect(results).toContain(told.sha256);
    expect(results).toContain(told.provenance.jobId);
    const shown = await night
      .start('explain', 'out/images/a.png')
      .prints('out/images/a.png: PNG, 64 × 48 pixels', /^ {2}prompt +Sea \\x1b\[31mred\\u202e$/m);
    for (const text of [stdout, shown.stdout, readFileSync(night.path('out/images/a.png'), 'latin1')])
      expect(text).not.toContain(testKey);
    // After an edit, the earlier picture and its sidecar get another name.
    night.write('scenes.csv', list.replace('Hills', 'Dunes'));
    await night.with({ env }).run('--quiet').exits(0);
    const { stdout: edited } = await night.start('explain', 'out/images/b.png', '--json');
    expect(JSON.parse(edited)).toMatchObject({ provenance: { prompt: 'Dunes' } });
  },
);

it('`explain` takes several pictures: a block or a JSON line for each, and names the batch if a picture says nothing', async () => {
  const files = {
    'pipeline.yaml': pipeline('local', 'input: {scene: "{{ scene }}", width: 64, height: 48}\n'),
  };
  const night = await finishedNight({ ...files, 'scenes.csv': list });
  night.write('note.png', 'no picture');
  const given = ['explain', 'out/images/a.png', 'note.png', 'out/images/b.png'];
  const { stdout } = await night.start(...given).fails(2, 'note.png: it is not a picture');
  const [first = '', second = '', ...more] = stdout.split('\n\n');
  expect([first, second]).toEqual([
    expect.stringMatching(/^out\/images\/a\.png: PNG, 64 × 48/),
    expect.stringMatching(/^out\/images\/b\.png: PNG, 64 × 48/),
  ]);
  expect(more).toEqual([]);
  const [, explain = ''] = /No provenance found\..* `nightrender (.*)`/.exec(second) ?? [];
  await night.start(...explain.split(' ')).prints('Hills');

  expect(await night.start(...given, '--json').lines()).toMatchObject([
    { type: 'picture', file: 'out/images/a.png' },
    { type: 'picture', file: 'out/images/b.png' },
    { type: 'refused', exitCode: 2 },
  ]);
});

it('refuses a file that is no picture, and still knows the command by its earlier name', async () => {
  const night = nightWith({ 'a.png': 'no picture' });
  for (const name of ['explain', 'inspect']) {
    await night.start(name, 'a.png').fails(2, 'a.png: it is not a picture');
    await night.start(name, 'gone.png').fails(2, 'gone.png: there is no such file');
  }
  await night.start('help', 'inspect').prints('nightrender explain [pipeline] [id]');
  await night.start('--help').prints(/^((?!inspect)[^])*$/);
});
