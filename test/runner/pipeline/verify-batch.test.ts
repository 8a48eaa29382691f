/**
 * Promise: `verify` checks every recorded picture once, even during a run, and a repair may crash at any
 * moment.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { readSavedJobs, recordedReader } from '../../../src/runner/checkpoint/recorded-pictures.ts';
import { pictureRepair } from '../../../src/runner/checkpoint/repair-checkpoint.ts';
import type { BadPicture, Verified } from '../../../src/runner/core/scene-record.ts';
import { verifyBatch, type Repair, type VerifyPorts } from '../../../src/runner/pipeline/verify-batch.ts';
import { pictureOf } from '../../fakes/fake-service.ts';
import { manifestOf, World } from '../../fakes/world.ts';

let world: World;
/** Names of the files whose content is damaged. */
let damaged: Set<string>;

async function rendered(scenes: number, pictures = 1): Promise<void> {
  const several = Array.from({ length: pictures }, (_, i) => pictureOf(`picture ${i}`));
  world = new World(() => ({ queueMs: 0, executionMs: 100, pictures: several }));
  damaged = new Set();
  const pairs = Array.from({ length: scenes }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
  await world.run({ manifest: manifestOf(pairs), settings: { concurrency: 200 } });
}

function repairOf({ setAside }: Partial<Repair> = {}): Repair {
  return {
    setAside:
      setAside ??
      (async (file, as) => {
        world.images.files.set(`${file}.${as}`, world.images.files.get(file) ?? '');
        world.images.files.delete(file);
        damaged.delete(file);
        return `${file}.${as}`;
      }),
    putBack: pictureRepair(world.db).putBack,
  };
}

async function verify(ports: Partial<VerifyPorts> = {}): Promise<{ verified: Verified; bad: BadPicture[] }> {
  const bad: BadPicture[] = [];
  const verified = await verifyBatch(
    {
      jobs: () => readSavedJobs(world.db),
      readAgain: recordedReader(world.db),
      inspect: async ({ file }) => {
        if (!world.images.files.has(file)) return { kind: 'missing' };
        return damaged.has(file) ? { kind: 'damaged', problem: 'it is cut' } : { kind: 'good' };
      },
      repair: undefined,
      onBad: (each) => bad.push(each),
      onProgress: () => undefined,
      ...ports,
    },
    3,
  );
  return { verified, bad };
}

describe('a verification', () => {
  it('checks every picture once, however many there are', async () => {
    await rendered(260, 2);
    const seen = new Map<string, number>();
    const { verified } = await verify({
      inspect: async ({ file }) => {
        seen.set(file, (seen.get(file) ?? 0) + 1);
        return { kind: 'good' };
      },
    });
    expect(verified).toMatchObject({ checked: 520, good: 520 });
    expect(seen.size).toBe(520);
  });

  it('follows a picture that a run renames meanwhile, and leaves out a picture that is no longer on record', async () => {
    await rendered(3);
    const { inspect } = { inspect: async () => ({ kind: 'missing' }) as const };
    let isFirst = true;
    const { verified, bad } = await verify({
      inspect: async (picture) => {
        if (isFirst) {
          isFirst = false;
          // The first inspection finds neither file. Meanwhile a run has renamed one of them, and a repair
          // has removed the record of the other.
          world.db.exec("UPDATE pictures SET file = 'new.png', file_key = 'new' WHERE file = 's0.png'");
          world.db.exec("DELETE FROM pictures WHERE file = 's1.png'");
        }
        return picture.file === 'new.png' ? { kind: 'good' } : inspect();
      },
    });
    expect(verified).toMatchObject({ checked: 2, good: 1, missing: 1 });
    expect(bad.map(({ file }) => file)).toEqual(['s2.png']);
  });
});

describe('a recorded rename', () => {
  beforeEach(async () => {
    await rendered(2);
    world.db.exec("UPDATE pictures SET move_to = 'new.png' WHERE file = 's0.png'");
  });

  it('may be done on disk before its end is recorded', async () => {
    world.images.files.set('new.png', world.images.files.get('s0.png') ?? '');
    world.images.files.delete('s0.png');
    expect((await verify()).verified).toMatchObject({ checked: 2, good: 2 });
    damaged.add('new.png');
    expect((await verify()).verified).toMatchObject({ good: 1, damaged: 1, missing: 0 });
  });

  it('has its problem reported under the old name if it was not done', async () => {
    expect((await verify()).verified).toMatchObject({ good: 2 });
    damaged.add('s0.png');
    expect((await verify()).verified).toMatchObject({ good: 1, damaged: 1, missing: 0 });
  });
});

describe('a repair', () => {
  beforeEach(() => rendered(4, 2));

  it('puts back whole jobs and no others: the other pictures of a job are rendered again with it', async () => {
    world.images.files.delete('s1.png');
    damaged.add('s2-2.png');
    const { verified } = await verify({ repair: repairOf() });
    expect(verified).toEqual({ checked: 8, good: 6, missing: 1, damaged: 1, withdrawn: 0, putBack: 2 });
    expect(world.rows("SELECT id, due_at, counted_from FROM scenes WHERE state = 'waiting'")).toEqual([
      { id: 's1', due_at: 0, counted_from: 1 },
      { id: 's2', due_at: 0, counted_from: 1 },
    ]);
    expect(world.rows('SELECT count(*) AS n FROM pictures')).toEqual([{ n: 4 }]);
    expect((await verify()).verified).toMatchObject({ checked: 4, good: 4 });
    const files = ['s1-2.png.former', 's2-2.png.damaged', 's2.png.former'];
    expect([...world.images.files.keys()].filter((name) => /s[12]/.test(name)).toSorted()).toEqual(files);
    const pairs = [0, 1, 2, 3].map((i): [string, string] => [`s${i}`, `scene ${i}`]);
    expect((await world.run({ manifest: manifestOf(pairs) }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(6);
    expect((await verify()).verified).toMatchObject({ checked: 8, good: 8 });
  });

  it('of a row that is gone does not stand in the way when the row comes and goes again', async () => {
    const other = manifestOf([['s1', 'another scene']]);
    const former = manifestOf([['s1', 'scene 1']]);
    await world.run({ manifest: other });
    const replaced = [...world.images.files.keys()].find((name) => name.startsWith('s1.replaced'));
    world.images.files.delete(replaced ?? '');
    await verify({ repair: repairOf() });
    world.service.behaviour = () => ({
      queueMs: 0,
      executionMs: 100,
      pictures: ['new 1', 'new 2'].map(pictureOf),
    });
    for (const manifest of [former, other, former, other])
      expect((await world.run({ manifest }))?.ending.kind).toBe('complete');
  });

  it('that crashes once the damaged file was moved away is completed by the next one', async () => {
    damaged.add('s2.png');
    const dying = verify({
      repair: {
        ...repairOf(),
        putBack: () => Promise.reject(new Error('killed')),
      },
    });
    await expect(dying).rejects.toThrow('killed');
    expect(world.images.files.has('s2.png')).toBe(false);
    const { verified } = await verify({ repair: repairOf() });
    expect(verified).toMatchObject({ missing: 2, putBack: 1 });
  });

  it('that crashes before changes nothing', async () => {
    damaged.add('s2.png');
    const dying = verify({ repair: repairOf({ setAside: () => Promise.reject(new Error('killed')) }) });
    await expect(dying).rejects.toThrow('killed');
    expect((await verify()).verified).toMatchObject({ checked: 8, good: 7, damaged: 1 });
  });
});
