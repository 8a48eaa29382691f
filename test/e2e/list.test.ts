/** Promise: `list` lists the requested scenes of a batch, as lines, JSON and CSV. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { finishedNight, nightOf, pipeline, root, small } from './cli.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { lookedAtBatch } from './looked-at.ts';
import { startPatientService } from './stand-ins.ts';

firstTier.it(
  '`list` prints a line for each scene, without control characters, and the same data as the report if requested',
  async () => {
    const night = await lookedAtBatch();
    const { list } = night;
    const all = await list().exits(0);
    expect(all.stdout.split('\n')).toEqual([
      expect.stringMatching(/^harbour +saved +3× +A harbour at dawn +out\/images\/harbour\.png$/),
      expect.stringMatching(/^夜の港 +saved +3× +夜の港に船が三隻 +out\/images\/夜の港\.png$/),
      expect.stringMatching(/^loud +failed +2× +Hills \[31mred \[0m and a second line +picture-too-small: /),
      expect.stringMatching(/^\(no id\) +invalid +scenes\.csv:\d+: /),
      expect.stringMatching(/^lighthouse +failed +2× +A lighthouse, seen from far +picture-too-small: /),
      '',
    ]);
    await list('--json').printsOnly(night.read('out/report/results.jsonl'));
    await list('--csv').printsOnly(night.read('out/report/results.csv'));

    const idsOf = async (...args: string[]): Promise<unknown[]> =>
      (await list('--json', ...args).lines<{ id: unknown }>()).map(({ id }) => id);
    expect(await idsOf('--state', 'failed')).toEqual(['loud', 'lighthouse']);
    expect(await idsOf('--state', 'saved', '--state', 'invalid')).toEqual(['harbour', '夜の港', null]);
    expect(await idsOf('--kind', 'picture-too-small')).toEqual(['loud', 'lighthouse']);
    expect(await idsOf('--kind', 'invalid-row')).toEqual([null]);
    expect(await idsOf('--search', 'HARBOUR')).toEqual(['harbour']);
    expect(await idsOf('--search', '港に船')).toEqual(['夜の港']);
    expect(await idsOf('--search', 'ink', '--state', 'failed')).toEqual([]);
    expect(await idsOf('--search', 'style')).toEqual([]);
    expect(await idsOf('--search', '\u0007\nand')).toEqual(['loud']);
    expect(await idsOf('--limit', '2')).toEqual(['harbour', '夜の港']);
    expect(await idsOf('--where', "state = 'failed' and not prompt contains 'hills'")).toEqual([
      'lighthouse',
    ]);
    expect(await idsOf('--where', 'attempts >= 3', '--search', 'HARBOUR')).toEqual(['harbour']);
  },
);

firstTier.it('`list` says why it cannot list scenes, and says if no scene matches', async () => {
  const night = nightOf('local', 1, small);
  const { list } = night;
  await list().fails(2, 'there is no batch here yet');
  await night.run('--quiet');
  const wrong: [string[], string][] = [
    [['--state', 'faild'], '--state: "faild" is not a state of a scene; did you mean failed?'],
    [['--kind', 'job-faild'], '--kind: "job-faild" is not a kind of failure; did you mean job-failed?'],
    [['--limit', '0'], '--limit: 0 is not a number of scenes; expected a whole number from 1'],
    [['--json', '--csv'], '--csv: --json is given as well'],
    [['--where', 'stat = 1'], '--where: "stat" at character 1 is no column; did you mean state?'],
    [['--where', "toString = 'a'"], '"toString" at character 1 is no column'],
    [['--where', "state = 'failed"], '--where: the quote at character 9 is not closed'],
  ];
  for (const [args, said] of wrong) {
    const { code, stderr } = await list(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  }
  const empty = await list('--state', 'failed');
  expect([empty.code, empty.stdout, empty.stderr]).toEqual([0, '', 'No scene matches.\n']);
});

firstTier.it('`list` shows the scenes of a live run, and the same scenes after it was killed', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 20);
  await night.cutOff(16);
  const held = await night.hold();
  const live = await night.list('--state', 'active').prints(/^s0 +active +1× +Hills and 0 trees +job \S+\n/);
  expect(live.stdout.trim().split('\n')).toHaveLength(16);
  held.release();
  await night.list('--state', 'active').printsOnly(live.stdout);
});

rest.it('`list` ends quietly if its reader closes the pipe', async () => {
  const night = nightOf('local', 2, small);
  await night.run('--quiet');
  const program = `'${process.execPath}' '${join(root, 'dist/nightrender.cjs')}'`;
  const { stdout, stderr } = spawnSync(
    'bash',
    ['-c', `${program} list pipeline.yaml | true; echo "\${PIPESTATUS[0]}"`],
    { cwd: night.cwd, encoding: 'utf8' },
  );
  expect([stdout, stderr]).toEqual(['0\n', '']);
});

firstTier.it('`list` takes the state of a scene from a column of that name', async () => {
  const night = await finishedNight({
    'pipeline.yaml': pipeline('local', small),
    'scenes.csv': 'id,scene,state\nfox,a fox,Ohio\nowl,an owl,Utah\n',
  });
  const idsOf = async (where: string): Promise<unknown[]> => {
    return (await night.list('--json', '--where', where).lines<{ id: unknown }>()).map(({ id }) => id);
  };
  expect(await idsOf("state = 'saved'")).toEqual(['fox', 'owl']);
  expect(await idsOf("manifest.state = 'Utah'")).toEqual(['owl']);
});
