/** Promise: whatever becomes of a picture, the memory that it took is given back. */
import { expect, it } from 'vitest';
import type { FoundPicture } from '../../../src/runner/core/picture.ts';
import type { Hold } from '../../../src/runner/pipeline/ports.ts';
import { manifestOf, World } from '../../fakes/world.ts';

class CountedHold implements Hold {
  bytes: number;

  constructor(bytes = 1_000) {
    this.bytes = bytes;
  }

  tryGrow(bytes: number): boolean {
    this.bytes = bytes;
    return true;
  }
  async retake(): Promise<void> {}
  shrink(): void {}
  release(): void {
    this.bytes = 0;
  }
}

const good: FoundPicture[] = [{ bytes: Buffer.from('a hill') }];

it.each<[string, FoundPicture[], (world: World) => void]>([
  ['saved', good, () => undefined],
  ['refused', [{ bytes: Buffer.from('bad') }], () => undefined],
  ['not downloaded', [{ url: 'https://cdn.example/a.png' }], refuseDownloads],
  ['not taken by the disk', good, (world) => (world.images.isDiskFull = true)],
])('where it is %s', async (_, pictures, prepare) => {
  const holds: CountedHold[] = [];
  const world = new World();
  prepare(world);
  world.service.instead.status = () => {
    const hold = new CountedHold();
    holds.push(hold);
    return { kind: 'completed', status: 'COMPLETED', pictures, hold };
  };
  await world.run({ manifest: manifestOf([['a', 'a hill']]) });
  expect(holds.length).toBeGreaterThan(0);
  for (const hold of holds) expect(hold.bytes).toBe(0);
});

it('is asked for once for all pictures that a job names, before the first', async () => {
  const world = new World();
  const pictures = ['a', 'b', 'c'].map((name) => ({ url: `https://cdn.example/${name}.png` }));
  const hold = new CountedHold(0);
  world.service.instead.status = () => ({ kind: 'completed', status: 'COMPLETED', pictures, hold });
  await world.run({ manifest: manifestOf([['a', 'a hill']]) });
  expect(world.downloads.rooms).toEqual([3, undefined, undefined]);
});

function refuseDownloads(world: World): void {
  world.downloads.answer = () => ({ kind: 'download-failed', text: 'the host answered 404' });
}
