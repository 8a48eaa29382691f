/** Promise: `explain` shows the whole history of a scene and what decides its next step. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nightOf, nightWith, small } from './cli.ts';
import { lookedAtBatch } from './looked-at.ts';
import { startPatientService } from './stand-ins.ts';

it('`explain` shows the row, every attempt, the picture and the failures, and which of them count', async () => {
  const { explain } = await lookedAtBatch();
  await explain('夜の港').exits(
    0,
    /^scene +夜の港\nstate +saved\nnext +nothing is left to do/,
    /attempt 1 failed after .*; no longer counts\n/,
    /attempt 3 saved after .*\n.* sent to the local service in run 2\n.*accepted as job \S+\n/,
    /out\/images\/夜の港\.png {2}\d+×\d+, \d+ kB, seed \d+/,
  );
  await explain('loud').prints(
    'state     failed: picture-too-small: ',
    '`nightrender retry pipeline.yaml --id loud` gives it fresh attempts',
    'scene: Hills \\x1b[31mred\\x1b[0m\\x07\\nand a second line\n',
    '2 failed of `retry.attempts` and 2 sent of `retry.submissions` count so far',
  );

  const { stdout } = await explain('harbour', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    type: 'scene-story',
    id: 'harbour',
    isRunning: false,
    invalid: [],
    versions: [
      {
        state: 'saved',
        source: 'scenes.csv:2',
        columns: { id: 'harbour', style: 'oil' },
        input: { scene: 'A harbour at dawn' },
        attempts: [
          { number: 1, state: 'failed', failureKind: 'picture-too-small', isCounted: false },
          { number: 2, state: 'failed', isCounted: false },
          { number: 3, state: 'saved', isCounted: true, pictures: [{ file: 'harbour.png' }] },
        ],
      },
    ],
  });
});

it('`explain` suggests a similar id for an unknown id', async () => {
  const { explain } = await lookedAtBatch();
  await explain('harbor')
    .fails(2, 'no scene of this batch has "harbor" as', /did you mean "harbour"\?\n$/)
    .printsOnly('');
  await explain('weather-station').warns('as picture; `nightrender list` names all');
  await explain('--id=-1').warns('no scene of this batch has "-1"');
  await explain().fails(2, 'Specify a scene');
});

it('`explain` finds a scene by words of its prompt and by the file of its picture, if the list has no ids', async () => {
  const night = nightWith({
    'prompts.txt': 'a photo of a bench\na photo of a harbour\n',
    'pipeline.yaml': `manifest: prompts.txt\nendpoint: {baseUrl: local, id: painter}\ninput: {prompt: '{{ prompt }}', width: 32, height: 32}\noutput: {dir: out}\n`,
  });
  await night.run('--quiet');
  const files = readdirSync(night.path('out/images')).toSorted();
  expect(files).toEqual([
    expect.stringMatching(/^a-photo-of-a-bench-[0-9a-f]{6}\.png$/),
    expect.stringMatching(/^a-photo-of-a-harbour-[0-9a-f]{6}\.png$/),
  ]);
  const explain = async (text: string) => night.explain(text);
  for (const text of ['BENCH', 'photo of a bench', files[0] ?? '', `out/images/${files[0]}`]) {
    const { code, stdout } = await explain(text);
    expect([code, stdout]).toEqual([0, expect.stringContaining('prompt: a photo of a bench\n')]);
  }
  const several = await explain('photo');
  expect(several.code).toBe(2);
  expect(several.stderr).toMatch(
    /"photo" is in several scenes: [0-9a-f]{12} \(a photo of a bench\), [0-9a-f]{12} \(a photo of a harbour\)\. Name one by its id/,
  );
});

it('`explain` shows the earlier row of an edited id, and the fate of an id that is no longer listed', async () => {
  const night = nightOf('local', 2, small);
  await night.run('--quiet');
  const edited = night
    .read('scenes.csv')
    .replace('0 trees', '7 birches')
    .replace(/^s1.*\n/m, '');
  night.write('scenes.csv', edited);
  await night.run('--quiet');
  const { stdout } = await night.explain('s0');
  const [now = '', before = ''] = stdout.split('Before its row was edited');
  expect(now).toMatch(/scene: Hills and 7 birches[^]*out\/images\/s0\.png/);
  expect(before).toMatch(/scene: Hills and 0 trees[^]*out\/images\/s0\.replaced-\w+\.png/);
  expect(before).toContain('get their names back if the row is edited back');
  await night.explain('s1').prints('its row is no longer in the manifest');
});

it('`explain` shows the state of a scene during a run, and after a kill', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 20);
  await night.cutOff(16);
  const held = await night.hold();
  const nextOf = async (id: string): Promise<string> => {
    const { stdout } = await night.explain(id);
    return /^next +(.*)$/m.exec(stdout)?.[1] ?? '';
  };
  expect(await nextOf('s0')).toContain('the run polls its job until it is done');
  expect(await nextOf('s19')).toBe(
    'the run sends it when its turn comes: 3 scenes of the list come before it',
  );
  held.release();
  expect(await nextOf('s0')).toMatch(
    /^its job is in flight, sent .* ago, and no run is working: the next run collects/,
  );
  expect(await nextOf('s16')).toBe('the next run sends it when its turn comes: it is next in line');
});
