/** Promise: `explain` tells the whole story of a scene, and what decides its next step. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cutOffRun, folderWith, holdBatch, inProcess, newBatch, small } from './cli.ts';
import { lookedAtBatch } from './looked-at.ts';
import { startPatientService } from './stand-ins.ts';

it('tells the row, every attempt, the picture and the failures, and which of them count', async () => {
  const cwd = await lookedAtBatch();
  const explain = async (...args: string[]) => inProcess(['explain', 'pipeline.yaml', ...args], { cwd });
  const saved = await explain('夜の港');
  expect(saved.code).toBe(0);
  expect(saved.stdout).toMatch(/^scene +夜の港\nstate +saved\nnext +nothing is left to do/);
  expect(saved.stdout).toMatch(/attempt 1 failed after .*; no longer counts\n/);
  expect(saved.stdout).toMatch(
    /attempt 3 saved after .*\n.* sent to the local service in run 2\n.*accepted as job \S+\n/,
  );
  expect(saved.stdout).toMatch(/out\/images\/夜の港\.png {2}\d+×\d+, \d+ kB, seed \d+/);
  const failed = await explain('loud');
  expect(failed.stdout).toContain('state     failed: picture-too-small: ');
  expect(failed.stdout).toContain('`nightrender retry pipeline.yaml --id loud` gives it fresh attempts');
  expect(failed.stdout).toContain('scene: Hills \\x1b[31mred\\x1b[0m\\x07\\nand a second line\n');
  expect(failed.stdout).toContain(
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

it('asks which id was meant where there is none such', async () => {
  const cwd = await lookedAtBatch();
  const near = await inProcess(['explain', 'pipeline.yaml', 'harbor'], { cwd });
  expect([near.code, near.stdout]).toEqual([2, '']);
  expect(near.stderr).toContain('no scene of this batch has "harbor" as');
  expect(near.stderr).toMatch(/did you mean "harbour"\?\n$/);
  const far = await inProcess(['explain', 'pipeline.yaml', 'weather-station'], { cwd });
  expect(far.stderr).toContain('as picture; `nightrender list` names all');
  const dashed = await inProcess(['explain', 'pipeline.yaml', '--id=-1'], { cwd });
  expect(dashed.stderr).toContain('no scene of this batch has "-1"');
  const without = await inProcess(['explain', 'pipeline.yaml'], { cwd });
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('Specify a scene')]);
});

it('finds a scene by words of its prompt and by the file of its picture, where the list has no ids', async () => {
  const cwd = folderWith({
    'prompts.txt': 'a photo of a bench\na photo of a harbour\n',
    'pipeline.yaml': `manifest: prompts.txt\nendpoint: {baseUrl: local, id: painter}\ninput: {prompt: '{{ prompt }}', width: 32, height: 32}\noutput: {dir: out}\n`,
  });
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  const files = readdirSync(join(cwd, 'out/images')).toSorted();
  expect(files).toEqual([
    expect.stringMatching(/^a-photo-of-a-bench-[0-9a-f]{6}\.png$/),
    expect.stringMatching(/^a-photo-of-a-harbour-[0-9a-f]{6}\.png$/),
  ]);
  const explain = async (text: string) => inProcess(['explain', 'pipeline.yaml', text], { cwd });
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

it('tells what an id was before its row was edited, and what became of one that is listed no more', async () => {
  const cwd = newBatch('local', 2, small);
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  const edited = readFileSync(join(cwd, 'scenes.csv'), 'utf8')
    .replace('0 trees', '7 birches')
    .replace(/^s1.*\n/m, '');
  writeFileSync(join(cwd, 'scenes.csv'), edited);
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  const { stdout } = await inProcess(['explain', 'pipeline.yaml', 's0'], { cwd });
  const [now = '', before = ''] = stdout.split('Before its row was edited');
  expect(now).toMatch(/scene: Hills and 7 birches[^]*out\/images\/s0\.png/);
  expect(before).toMatch(/scene: Hills and 0 trees[^]*out\/images\/s0\.replaced-\w+\.png/);
  expect(before).toContain('get their names back if the row is edited back');
  const gone = await inProcess(['explain', 'pipeline.yaml', 's1'], { cwd });
  expect(gone.stdout).toContain('its row is no longer in the manifest');
});

it('tells what a live run does with a scene, and what is left of it after a violent death', async () => {
  const service = await startPatientService();
  const cwd = newBatch(service.url, 20);
  await cutOffRun(cwd, 16);
  const held = await holdBatch(cwd);
  const nextOf = async (id: string): Promise<string> => {
    const { stdout } = await inProcess(['explain', 'pipeline.yaml', id], { cwd });
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
