/**
 * Promise: `retry` puts back exactly the chosen scenes, and the key is sent only to its service until the
 * user decides otherwise.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { firstTier, rest, sampled } from '../fakes/tier.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import {
  finishedNight,
  folderWith,
  type Night,
  nightOf,
  nthEvent,
  pipeline,
  scenes,
  serve,
  signalAt,
  small,
} from './cli.ts';
import { startPatientService } from './stand-ins.ts';

/** Creates a batch with one failed scene of each kind and a saved one, in the order of the kinds. */
async function setAside(kinds: string[]): Promise<Night> {
  const night = await finishedNight({
    'pipeline.yaml': pipeline('local', small),
    'scenes.csv': scenes(kinds.length + 1),
  });
  editCheckpoint(night.path('out'), (db) => {
    for (const [i, kind] of kinds.entries()) {
      const scene = db
        .prepare<[string], { scene: number }>('SELECT scene FROM scenes WHERE id = ?')
        .get(`s${i}`);
      db.prepare(
        "UPDATE scenes SET state = 'failed', failure_kind = ?, failure_text = 'told', deaths = 3 WHERE scene = ?",
      ).run(kind, scene?.scene);
      db.prepare("UPDATE attempts SET state = 'failed', failure_kind = ? WHERE scene = ?").run(
        kind,
        scene?.scene,
      );
      db.prepare('DELETE FROM pictures WHERE attempt IN (SELECT attempt FROM attempts WHERE scene = ?)').run(
        scene?.scene,
      );
      rmSync(night.path(`out/images/s${i}.png`));
    }
  });
  return night;
}

const kinds = ['job-failed', 'unanswered', 'expired', 'quarantined', 'job-failed'];

const choices: [options: string[], expected: string[]][] = [
  [[], ['s0', 's1', 's2', 's3', 's4']],
  [['--failed'], ['s0', 's1', 's2', 's3', 's4']],
  [['--held'], ['s1']],
  [['--expired'], ['s2']],
  [
    ['--kind', 'job-failed'],
    ['s0', 's4'],
  ],
  [
    ['--kind', 'job-failed', '--kind', 'quarantined'],
    ['s0', 's3', 's4'],
  ],
  [['--id', 's0'], ['s0']],
  [
    ['--where', "kind = 'job-failed' or id = 's3'"],
    ['s0', 's3', 's4'],
  ],
  [
    ['--where', 'attempts = 1'],
    ['s0', 's1', 's2', 's3', 's4'],
  ],
  [
    ['--id', 's4', '--held', '--id', 's4'],
    ['s1', 's4'],
  ],
];

it.each(sampled(choices, { ms: 250, least: 3 }))(
  '%j puts back %j, which the next run renders, and no others',
  async (options, expected) => {
    const night = await setAside(kinds);
    const lines = await night
      .retry(...options, '--json')
      .exits(0)
      .lines();
    expect(lines.flatMap(({ type, scene }) => (type === 'scene-put-back' ? [scene] : []))).toEqual(expected);
    expect(lines.at(-1)).toMatchObject({ type: 'put-back', scenes: expected.length, givenUp: 0 });
    const saved = (
      await night
        .run('--json')
        .exits(expected.length === kinds.length ? 0 : 3)
        .lines<{ type: string; scene: string }>()
    ).flatMap(({ type, scene }) => (type === 'scene-saved' ? [scene] : []));
    expect(saved.toSorted()).toEqual(expected);
  },
);

firstTier.it(
  '`retry` names the scenes that it puts back and their cost, and ends with 0 if there are none',
  async () => {
    const night = await setAside(kinds);
    await night
      .retry('--kind', 'job-failed')
      .prints(
        '2 scenes wait to be rendered again:\n  s0 (job-failed)\n  s4 (job-failed)\n',
        'At least 2 new jobs will be billed: `nightrender run pipeline.yaml`',
      );
    await night.retry('--kind', 'job-failed').exits(0).printsOnly('Nothing to put back.\n');
  },
);

firstTier.it('--again renders a saved scene again with another seed, and keeps its picture', async () => {
  const night = nightOf(
    'local',
    'id,scene,seed\ns0,a fox,5\ns1,a hare,5\n',
    `${small.trimEnd().slice(0, -1)}, seed: "{{ seed }}"}\ncolumns: {seed: number}\n`,
  );
  await night.run('--quiet');
  const old = readFileSync(night.path('out/images/s1.png'));
  await night.retry('--id', 's1').warns('`nightrender retry pipeline.yaml --id s1 --again`');
  const words = ['retry', 'pipeline.yaml', '--where', "scene contains 'hare'", '--again', '--new-seed'];
  await night
    .start(...words)
    .warns('')
    .prints(
      '1 scene waits to be rendered again:\n  s1 (saved)\n1 file that was there is kept as <name>.former in out/images.\n',
    );
  await night.run('--quiet').exits(0);
  expect(readFileSync(night.path('out/images/s1.png.former'))).toEqual(old);
  expect(readFileSync(night.path('out/images/s1.png'))).not.toEqual(old);
  const story = await night.explain('s1');
  const [, sent = '5'] = /"seed":(\d+)/.exec(story.stdout) ?? [];
  expect(sent).not.toBe('5');
  const results = (name: string): string => night.read(`out/report/${name}`);
  const rows = results('results.jsonl').trim().split('\n');
  expect(rows.map((row) => (JSON.parse(row) as { columns: object }).columns)).toMatchObject([
    { seed: 5 },
    { seed: Number(sent) },
  ]);
  expect(results('results.csv')).toContain(`,${sent},`);
  expect(results('index.html')).toContain(sent);
  await night
    .retry('--where', "state = 'saved'", '--again')
    .warns(
      '2 scenes send the same seed as before, which makes the same picture if nothing else has changed; --new-seed sends another.\n',
    );
});

firstTier.it('`retry` gives a scene fresh attempts, and no longer counts earlier attempts', async () => {
  const night = await setAside(['job-failed']);
  await night.retry();
  // No attempt can succeed. If the earlier attempt still counted, there would be only one more.
  const strict = 'check: {minSide: 9000}\nretry: {attempts: 2, firstWait: 1ms, longestWait: 2ms}\n';
  night.write('pipeline.yaml', pipeline('local', small + strict));
  const run = await night.run('--json').exits(3);
  expect(run.stdout.match(/"scene-submitted"/g)).toHaveLength(2);
});

firstTier.it.each([
  [['--kind', 'job-faild'], '--kind: "job-faild" is not a kind of failure; did you mean job-failed?'],
  [['--kind', 'weather'], '--kind: "weather" is not a kind of failure; expected one of key-refused, '],
  [['--id', 'nobody'], '--id: "nobody" is not the id of a scene in this batch'],
  [['--id', 's1', '--id', 's0'], '--id: "s1" is saved'],
  [['--again'], '--again: name the scene with --id'],
  [['--id', 's0', '--where', 'attempts = 1'], '--where: --id is given as well'],
  [['--where', 'attemps = 1'], '--where: "attemps" at character 1 is no column; did you mean attempts?'],
  [['--id', 's0', '--new-seed'], '--new-seed: requires --again'],
  [['--id', 's0', '--again', '--new-seed'], '--new-seed: "s0" sends no seed'],
])('%j is refused with a message, and nothing is changed', async (options, sentence) => {
  const night = await setAside(['job-failed']);
  await night.retry(...options).fails(2, sentence);
  expect(await night.state()).toMatchObject({ summary: { scenes: { failed: 1, waiting: 0 } } });
});

firstTier.it(
  '`retry` refuses an id that is in flight or waiting, a live batch, and a folder without a batch',
  async () => {
    const service = await startPatientService();
    const night = nightOf(service.url, 2, 'concurrency: 1\n');
    await night.retry().warns('there is no batch here');
    await night.cutOff(1);
    const held = await night.hold();
    await night.retry().exits(11);
    held.release();
    await night.retry('--id', 's0', '--id', 's1').fails(2, '"s0" is in flight', '"s1" is already waiting');
  },
);

firstTier.it(
  'jobs in flight at another address: the key does not go there, until they are collected or given up',
  async () => {
    const old = await startPatientService();
    const night = nightOf(old.url, 3, small);
    await night.cutOff(3);
    const asked = old.requests.length;
    const { url } = await serve(folderWith({}));
    night.write('pipeline.yaml', pipeline(url, small));
    for (const command of ['run', 'cancel']) {
      await night
        .do(command, '--output', 'out')
        .fails(
          2,
          new RegExp(
            `pipeline\\.yaml:3:12: 3 jobs are still in flight at ${old.url}, the oldest since 20\\d\\d-`,
          ),
          `Set endpoint.baseUrl back to ${old.url}`,
          '`nightrender retry pipeline.yaml --output out --elsewhere`',
        );
    }
    expect(old.requests).toHaveLength(asked);
    await night.retry('--elsewhere').exits(0, '3 jobs in flight given up', 's2 (given-up)');
    await night.run('--quiet').exits(0);
    expect(old.requests).toHaveLength(asked);
    expect(await night.state()).toMatchObject({
      summary: { attempts: { expired: 3, saved: 3 }, failures: [{ kind: 'given-up', attempts: 3 }] },
    });
  },
);

rest.it('jobs of the local service are collected with its own key, whatever the file says', async () => {
  const more = 'input: {scene: "{{ scene }}", width: 512, height: 512}\nconcurrency: 6\n';
  const night = nightOf('local', 6, more);
  const first = night.program('run', 'pipeline.yaml', '--json');
  await first.event('scene-submitted', 6);
  first.child.kill('SIGKILL');
  await first.finish();
  const { url } = await serve(folderWith({}));
  night.write('pipeline.yaml', pipeline(url, more));
  await night.run('--json').exits(0).printsNo('"scene-submitted"');
});

firstTier.it('another endpoint at the same address still gets the key', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 1);
  await night.cutOff(1);
  night.write('pipeline.yaml', pipeline(`${service.url}/`).replace('scene-renderer', 'other'));
  const at = signalAt(nthEvent('recovered'));
  expect(await night.with({ at }).run('--json').events('recovered')).toMatchObject([{ inFlight: 1 }]);
});

firstTier.it(
  '`retry --ids` takes the ids of a file, one on each line, and counts repeated ids once',
  async () => {
    const night = await setAside(kinds);
    night.write('ids.txt', '\uFEFFs1\r\n\r\n  s3 \r\ns1\r\n');
    await night
      .retry('--ids', 'ids.txt', '--id', 's4')
      .prints('3 scenes wait to be rendered again:\n  s1 (unanswered)\n  s3 (quarantined)\n  s4');
  },
);

firstTier.it.each([
  ['s0\nnobody\n', 'ids.txt:2: "nobody" is not the id of a scene in this batch\n'],
  ['s1\n', 'ids.txt:1: "s1" is saved; `nightrender retry pipeline.yaml --id s1 --again`'],
  [
    `s0\n${Array.from({ length: 2000 }, (_, i) => `x${i}`).join('\n')}`,
    '\n1,990 more cannot be put back\n2,000 ',
  ],
  ['\n \n', '--ids: ids.txt has no ids'],
  ['\xff', '--ids: ids.txt: it is not UTF-8; save it as UTF-8'],
  [undefined, '--ids: ids.txt: there is no such file'],
])('a file with the ids %j is refused with the lines that are wrong', async (text, sentence) => {
  const night = await setAside(['job-failed']);
  if (text !== undefined) writeFileSync(night.path('ids.txt'), text, 'latin1');
  const { stderr } = await night.retry('--ids', 'ids.txt').fails(2, sentence);
  expect(stderr.split('\n').length).toBeLessThan(14);
  expect(await night.state()).toMatchObject({ summary: { scenes: { failed: 1, waiting: 0 } } });
});
