/** Promise: `watch` serves its page for a batch in any state, and explains if it cannot. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { firstTier, rest } from '../fakes/tier.ts';
import type { GalleryRow, LiveNews } from '../../src/runner/core/gallery-data.ts';
import { type Night, nightOf, testKey } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

const small = 'input: {scene: "{{ scene }}", width: 64, height: 48}\n';

async function watching(night: Night, args: string[] = [], env: Record<string, string> = {}) {
  const program = night.with({ env }).program('watch', 'pipeline.yaml', '--port', '0', '--json', ...args);
  const url = String((await program.event('watching'))['url']);
  const json = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json();
  const data = async (): Promise<LiveNews> => (await json('data.json')) as LiveNews;
  return { program, url, data, json };
}

rest.it.each(['SIGINT', 'SIGTERM'] as const)(
  '`watch` says its address, and ends with 0 at %s',
  async (signal) => {
    const night = nightOf('local', 1);
    const program = night.program('watch', 'pipeline.yaml', '--port', '0');
    program.child.stdout.on('data', () => program.stdout.includes('Ctrl-C') && program.child.kill(signal));
    const words =
      /^Watch out \(on this machine only\): there is no batch yet, and the page waits for one\.\n {2}http:\/\/127\.0\.0\.1:\d+\/#password=(\w{4}-){3}\w{4}\n/;
    await program.finish().exits(0, words).warnsOnly('');
  },
);

firstTier.it(
  '`watch` waits for the first run, shows it without its key, and shows that it was killed',
  async () => {
    const service = await startPatientService();
    const night = nightOf(service.url, 20);
    const { data, url } = await watching(night, [], { NIGHTRENDER_API_KEY: testKey });
    expect(await data()).toMatchObject({ run: { kind: 'none' }, numbers: null });
    const run = night.program('run', 'pipeline.yaml', '--json');
    await run.event('scene-submitted', 16);
    await expect.poll(data).toMatchObject({
      run: { kind: 'running' },
      command: 'nightrender run pipeline.yaml',
      numbers: { scenes: { active: 16, waiting: 4, saved: 0 } },
    });
    for (const path of ['', 'data.json', 'rows/a/1.json'])
      expect(await (await fetch(`${url}${path}`)).text()).not.toContain(testKey);
    run.child.kill('SIGKILL');
    await run.finish();
    await expect.poll(async () => (await data()).run.kind).toBe('killed');
  },
);

rest.it('`watch` shows an ended run and its pictures, and changes nothing', async () => {
  const night = nightOf('local', 3, small);
  await night.run('--quiet');
  // The page reads the checkpoint, so it needs no report.
  rmSync(night.path('out/report'), { recursive: true });
  const before = filesIn(night.path('out'));
  const { data, url, json, program } = await watching(night);
  const { run, numbers, chunks } = await data();
  expect(run).toMatchObject({ kind: 'ended', exitCode: 0 });
  expect(numbers).toMatchObject({
    scenes: { saved: 3 },
    failures: [],
    lagMs: expect.any(Number),
  });
  expect(chunks?.rows).toEqual([3]);
  const rows = (await json(`${chunks?.folder}/1.json`)) as GalleryRow[];
  expect(rows.map(({ id, attempts, prompt }) => [id, attempts, prompt])).toEqual([
    ['s0', 1, 1],
    ['s1', 1, 1],
    ['s2', 1, 1],
  ]);
  for (const { pictures = [] } of rows) {
    const picture = await fetch(`${url}${pictures[0]?.file}`);
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
  }
  await expect
    .poll(async () => (await data()).gallery)
    .toMatchObject({
      title: expect.stringMatching(/\/out$/),
      columns: [{ name: 'id' }, { name: 'scene' }],
      times: { firstSubmittedAt: expect.any(Number) },
    });
  program.child.kill('SIGTERM');
  await program.finish().exits(0);
  expect(filesIn(night.path('out'))).toEqual(before);
});

firstTier.it('`watch` prevents no run from starting, however often it polls', async () => {
  const night = nightOf('local', 1, small);
  const { data } = await watching(night);
  const done = new AbortController();
  const looking = (async () => {
    while (!done.signal.aborted) await data();
  })();
  for (let i = 0; i < 3; i++) expect((await night.run('--quiet')).code).toBe(0);
  done.abort();
  await looking;
});

rest.it('`watch` says in the page that a checkpoint is damaged, and continues watching', async () => {
  const night = nightOf('local', 1);
  mkdirSync(night.path('out'));
  night.write('out/checkpoint.sqlite', 'not a database, but somebody wants to keep it');
  const { data } = await watching(night);
  const { run } = await data();
  expect(run).toMatchObject({ kind: 'unreadable', text: expect.stringContaining('it was not changed') });
});

rest.it('`watch` ends with 2 if a port is in use or invalid, or a file does not exist', async () => {
  const night = nightOf('local', 1);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  await night
    .do('watch', '--port', String(port))
    .exits(2)
    .warnsOnly(
      `Port ${port} is in use by another program: end that program, or choose another port with --port.\n`,
    );
  await night.do('watch', '--port', 'http').fails(2, 'expected a whole number from 0 to 65535');
  await night.start('watch', 'nowhere.yaml').exits(2);
});

/** Returns all files except those of SQLite, which every reader leaves empty. */
function filesIn(dir: string): Set<string> {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  return new Set(files.filter((name) => !/^checkpoint\.sqlite-(wal|shm)$/.test(name)));
}
