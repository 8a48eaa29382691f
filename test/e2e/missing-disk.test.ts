/**
 * Promise: if the disk of the output folder is not mounted, the folder is not mistaken for an empty one, and
 * nothing is paid for again.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isSameFileSystem, placeOf } from '../../src/batch/record.ts';
import { folderWith, type Night, nightWith, pipeline, scenes, type Started, withKey } from './cli.ts';
import { firstTier, rest, sampled } from '../fakes/tier.ts';
import { picturesIn } from './same-books.ts';
import { startHeldStandIn } from './stand-ins.ts';
import { canMount, mountSmallDisk, RemovableDisk, setReadOnly } from './small-disk.ts';

const count = 6;

describe.skipIf(!canMount)('nightrender (skipped if this user may not mount a file system)', () => {
  const places = [
    ['is the output folder', 'out', 'out'],
    ['holds it', 'disk', 'disk/night/out'],
  ] as const;

  it.each(sampled(places, { ms: 1_000 }))(
    'refuses any command on a batch while the disk that %s is away',
    async (_, at, dir) => {
      const { night, service } = await batch({ dir });
      const disk = new RemovableDisk(night.path(at), 64);
      await run(night).exits(0).warnsOnly('');
      disk.unmount();
      for (const [command, ...options] of [
        ['run'],
        ['run', '--adopt'],
        ['run', '--accept-loss'],
        ['plan'],
        ['status'],
        ['list'],
        ['explain', 's1'],
        ['report'],
        ['retry'],
        ['retry', '--id', 's1', '--again'],
        ['cancel'],
        ['verify'],
        ['verify', '--repair'],
        ['verify', '--move'],
        ['watch', '--port', '0'],
      ] as [string, ...string[]][]) {
        const { code, stdout, stderr } = await nightrender(night, command, ...options);
        expect(code, `${command} ${options.join(' ')}: ${stderr}`).toBe(2);
        expect(stderr).toContain(`${dir}: a batch began here on `);
        expect(stderr).toContain(
          `when this folder was on the file system at ${night.path(at)}. Now it is on`,
        );
        expect(stderr).toContain('`nightrender run pipeline.yaml --fresh`');
        expect(stdout).toBe('');
      }
      expect(readdirSync(night.path(at)), 'nothing is made in its place').toEqual([]);
      expect(service.jobs.all).toHaveLength(count);
      disk.mount();
      await run(night).exits(0).warnsOnly('');
      expect(service.jobs.all).toHaveLength(count);
    },
  );

  it.each(
    sampled(
      [
        ['in one folder', 'out'],
        ['each in a folder of its own', 'out\n  name: "{{ id }}/{{ row }}.png"'],
      ],
      { ms: 1_000 },
    ),
  )('refuses the next start if the disk goes during a run, with pictures %s', async (_, dir) => {
    const { night, service } = await batch({ dir, size: 12, held: 4 });
    const disk = new RemovableDisk(night.path('out'), 64);
    const program = night.program('run', 'pipeline.yaml', '--json');
    await program.event('scene-saved', 3);
    disk.unmount();
    service.release();
    expect((await program.finish()).code, program.stderr).toBe(14);
    expect(picturesIn(night.cwd), 'what nobody would find').toEqual([]);
    const sent = service.jobs.all.length;
    await run(night).exits(2);
    expect(service.jobs.all).toHaveLength(sent);
    disk.mount();
    await run(night).exits(0);
    expect(service.jobs.all).toHaveLength(12);
  });

  firstTier.it('calls nothing lost if the disk that holds the folder goes during a run', async () => {
    const { night, service } = await batch({ dir: 'disk/out', size: 12, held: 4 });
    const disk = new RemovableDisk(night.path('disk'), 64);
    const program = night.program('run', 'pipeline.yaml', '--json');
    await program.event('scene-saved', 3);
    disk.unmount();
    service.release();
    const { stdout, stderr } = await program.finish().exits(14);
    expect(stdout + stderr).toContain('disappeared during the run');
    expect(stdout + stderr).not.toMatch(/--fresh|is lost/);
    disk.mount();
    await run(night).exits(0);
    expect(service.jobs.all).toHaveLength(12);
  });

  rest.it('seals its own checkpoint, and none that lies below the disk', async () => {
    const { night, service } = await batch({ size: 12, held: 5 });
    night.write('scenes.csv', scenes(1));
    await run(night).exits(0);
    const disk = new RemovableDisk(night.path('out'), 64);
    await nightrender(night, 'run', '--fresh').exits(0);
    night.write('scenes.csv', scenes(12));
    const program = night.program('run', 'pipeline.yaml', '--json');
    await program.event('scene-saved', 3);
    program.child.kill('SIGTERM');
    disk.unmount();
    await program.finish();
    service.release();
    disk.mount();
    await run(night).exits(0);
    expect(service.jobs.all).toHaveLength(1 + 12);
  });

  firstTier.it('says where a batch is if a disk was mounted over it since', async () => {
    const { night, service } = await batch();
    await run(night).exits(0);
    const disk = new RemovableDisk(night.path('out'), 64);
    await run(night)
      .fails(2, `the file system at ${night.path('out')}, which was mounted over the folder`)
      .warnsNo('not mounted');
    disk.unmount();
    await run(night).exits(0);
    expect(service.jobs.all).toHaveLength(count);
  });

  firstTier.it('refuses an older copy beneath the disk to which the batch was moved', async () => {
    const { night, service } = await batch({});
    const out = night.path('out');
    await run(night).exits(0).warnsOnly('');
    cpSync(out, night.path('copy'), { recursive: true });
    const disk = new RemovableDisk(out, 64);
    cpSync(night.path('copy'), out, { recursive: true });
    night.write('scenes.csv', scenes(count + 2));
    await run(night).exits(0).warnsOnly('');
    disk.unmount();
    await run(night).fails(2, 'with an older copy of the batch. Its disk is probably not mounted');
    disk.mount();
    await run(night).exits(0).warnsOnly('');
    expect(service.jobs.all).toHaveLength(count + 2);
  });

  firstTier.it('notifies the targets of `notify`', async () => {
    const { night } = await batch({ more: 'notify: [{command: cat > told.json}]\n' });
    const disk = new RemovableDisk(night.path('out'), 64);
    await run(night).exits(0);
    disk.unmount();
    await run(night).exits(2);
    expect(night.read('told.json')).toContain('a batch began here on');
  });

  firstTier.it('begins afresh with --fresh, and continues with either batch from then on', async () => {
    const { night, service } = await batch();
    const disk = new RemovableDisk(night.path('out'), 64);
    await run(night);
    disk.unmount();
    const plan = await nightrender(night, 'plan', '--fresh', '--json');
    expect(JSON.parse(plan.stdout)).toMatchObject({ exitCode: 0, changes: { added: count } });
    await nightrender(night, 'run', '--fresh').exits(0);
    await run(night).exits(0);
    await nightrender(night, 'status').exits(0);
    disk.mount();
    await run(night).exits(0);
    expect(service.jobs.all).toHaveLength(2 * count);
  });

  firstTier.it.each([
    ['leads nowhere meanwhile', 'out', 'night', ['disk/night', 'out']],
    ['is on the disk itself', 'disk/current/out', 'october', ['october', 'disk/current']],
  ] as const)('knows a folder behind a link that %s', async (_, dir, real, [target, link]) => {
    const { night, service } = await batch({ dir });
    const disk = new RemovableDisk(night.path('disk'), 64);
    mkdirSync(night.path('disk', real));
    symlinkSync(target, night.path(link));
    await run(night).exits(0);
    disk.unmount();
    await run(night).exits(2);
    disk.mount();
    await run(night).exits(0);
    expect(service.jobs.all).toHaveLength(count);
  });

  firstTier.it('starts as usual if only the device number differs', async () => {
    const { night } = await batch();
    const out = night.path('out');
    mountSmallDisk(out, 64);
    await run(night).exits(0);
    const { dev } = statSync(out);
    mountSmallDisk(out, 64);
    expect(statSync(out).dev).not.toBe(dev);
    await run(night).exits(0).warnsOnly('');
  });

  firstTier.it.each([
    ['is read-only', (state: string) => setReadOnly(state, true), 'EROFS'],
    ['is full', (state: string) => fill(state), 'ENOSPC'],
  ])('gives one warning if the state folder %s', async (_, spoil, code) => {
    const { night, env } = await batch();
    mountSmallDisk(env.XDG_STATE_HOME, 1);
    spoil(env.XDG_STATE_HOME);
    await run(night, env)
      .exits(0)
      .warns(new RegExp(`^[-\\d: ]+warning: .*\\(${code}: .*XDG_STATE_HOME.*\\n$`));
    setReadOnly(env.XDG_STATE_HOME, false);
    rmSync(join(env.XDG_STATE_HOME, 'ballast'), { force: true });
    await run(night, env)
      .exits(0)
      .warns(/^[^\n]*warning: [^\n]*it was written again\n$|^$/);
    spoil(env.XDG_STATE_HOME);
    expect(await run(night, env), 'what is noted stands').toMatchObject({ code: 0, stderr: '' });
  });
});

firstTier.it('starts as usual if the folder was deleted', async () => {
  const { night, service } = await batch();
  await run(night).exits(0);
  rmSync(night.path('out'), { recursive: true });
  await nightrender(night, 'status').warns('no batch here yet');
  await run(night).exits(0).warnsOnly('');
  expect(service.jobs.all).toHaveLength(2 * count);
});

firstTier.it.each([
  ['was deleted', (file: string) => rmSync(file), /\.json, .* was missing: it was deleted/],
  [
    'was deleted with all others',
    (file: string) => rmSync(dirname(dirname(file)), { recursive: true }),
    /\.json, .* was missing: it was deleted/,
  ],
  ['is half written', (file: string) => writeFileSync(file, '{"path"'), /\.json, .* was damaged/],
  ['is not a note', (file: string) => writeFileSync(file, '[]'), /\.json, .* was damaged/],
])('says once that the note %s, and continues', async (_, spoil, words) => {
  const { night, env } = await batch();
  await run(night, env).exits(0).warnsOnly('');
  spoil(noteOf(env.XDG_STATE_HOME));
  await run(night, env)
    .exits(0)
    .warns(/^[-\d: ]+warning: [^\n]*\n$/, words);
  await run(night, env).exits(0).warnsOnly('');
});

firstTier.it.each([
  ['a file stands in its place', (state: string) => writeFileSync(join(state, 'nightrender'), '')],
  ['it cannot be', () => '/proc/state'],
])('gives one warning if %s', async (_, spoil) => {
  const { night, env } = await batch();
  const XDG_STATE_HOME = spoil(env.XDG_STATE_HOME) ?? env.XDG_STATE_HOME;
  for (let start = 1; start <= 2; start++) {
    await run(night, { XDG_STATE_HOME })
      .exits(0)
      .warns(/^[-\d: ]+warning: the disk on which this batch began cannot be recorded [^\n]*\n$/);
  }
});

firstTier.it('records a thousand batches, and forgets the least recently started first', async () => {
  const { night, env } = await batch();
  await run(night, env);
  const own = noteOf(env.XDG_STATE_HOME);
  for (let n = 0; n < 1_005; n++) {
    const other = join(dirname(own), `other-${n}.json`);
    writeFileSync(other, '{}');
    utimesSync(other, n, n);
  }
  utimesSync(own, 0, 0);
  await run(night, env);
  expect(readdirSync(dirname(own))).toHaveLength(1_000);
  expect(existsSync(own)).toBe(true);
  expect(existsSync(join(dirname(own), 'other-1004.json'))).toBe(true);
});

firstTier.it('knows by its UUID the disk that a folder would be on', () => {
  const dir = folderWith({});
  const device = deviceOf(dir);
  const disks = folderWith({});
  symlinkSync('/dev/null', join(disks, 'another'));
  symlinkSync('/nowhere', join(disks, 'dangling'));
  expect(placeOf(join(dir, 'not/there'), disks)).toMatchObject({
    path: join(dir, 'not/there'),
    uuid: undefined,
  });
  if (device === undefined) return;
  symlinkSync(device, join(disks, 'f00d-cafe'));
  expect(placeOf(join(dir, 'not/there'), disks).uuid).toBe('f00d-cafe');
});

firstTier.it.each([
  ['the same place', '/disk', undefined, '/disk', undefined, true],
  ['another place', '/disk', undefined, '/', undefined, false],
  ['another disk in the same place', '/disk', 'a', '/disk', 'b', false],
  ['the same disk in another place', '/disk', 'a', '/', 'a', true],
  ['a disk whose UUID is not to be seen', '/disk', 'a', '/disk', undefined, true],
])('compares file systems by facts that outlive a reboot: %s', (_, from, was, to, is, isSame) => {
  const [before, now] = [
    { path: '/disk/out', mountPoint: from, uuid: was },
    { path: '/disk/out', mountPoint: to, uuid: is },
  ];
  expect(isSameFileSystem(before, now)).toBe(isSame);
});

/**
 * Creates a batch with a stand-in service, whose records show all payments. Jobs after the first `held` wait
 * for `release`.
 */
async function batch({ dir = 'out', size = count, more = '', held = Infinity } = {}) {
  const service = await startHeldStandIn({ first: held });
  const file = pipeline(service.url, `input: {scene: "{{ scene }}"}\n${more}`);
  const night = nightWith({
    'pipeline.yaml': file.replace('dir: out', `dir: ${dir}`),
    'scenes.csv': scenes(size),
  });
  return { night, service, env: { XDG_STATE_HOME: folderWith({}) } };
}

/** Runs the batch as cron does. */
function run(night: Night, env: Record<string, string> = {}): Started {
  return night.with({ env: { ...withKey.env, ...env } }).run('--quiet');
}

function nightrender(night: Night, command: string, ...options: string[]): Started {
  return night.do(command, ...options);
}

/** Returns the path of the only record of a batch. */
function noteOf(state: string): string {
  const folder = join(state, 'nightrender/batches');
  const [note = '', ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  return join(folder, note);
}

function fill(state: string): void {
  try {
    writeFileSync(join(state, 'ballast'), Buffer.alloc(2_000_000));
  } catch {
    // The file has as many bytes as there was space for.
  }
}

/** Returns the device of this folder, or undefined if it is not on a disk of this machine. */
function deviceOf(dir: string): string | undefined {
  const { dev } = statSync(dir);
  const devices = readdirSync('/dev').map((name) => join('/dev', name));
  return devices.find((path) => statSync(path, { throwIfNoEntry: false })?.rdev === dev);
}
