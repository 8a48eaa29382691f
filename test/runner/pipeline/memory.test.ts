/** Promise: whatever becomes of a picture, the memory that it took is given back. */
import { expect, it } from 'vitest';
import type { FoundPicture } from '../../../src/runner/core/picture.ts';
import type { Hold } from '../../../src/runner/pipeline/ports.ts';
import { manifestOf, World } from '../../fakes/world.ts';

class CountedHold implements Hold {
  bytes = 1_000;
  readonly ways: string[] = [];

  async take(): Promise<boolean> {
    return true;
  }
  tryTake(): boolean {
    return true;
  }
  giveBack(): void {}
  buffer(bytes: number): Uint8Array {
    return Buffer.alloc(bytes);
  }
  release(): void {
    if (this.bytes > 0) this.ways.push('released');
    this.bytes = 0;
  }
  drop(): void {
    if (this.bytes > 0) this.ways.push('dropped');
    this.bytes = 0;
  }
}

const good: FoundPicture[] = [{ bytes: Buffer.from('a hill') }];

it.each<[string, FoundPicture[], (world: World) => void, string]>([
  ['saved', good, () => undefined, 'released'],
  ['refused', [{ bytes: Buffer.from('bad') }], () => undefined, 'released'],
  ['not downloaded', [{ url: 'https://cdn.example/a.png' }], refuseDownloads, 'released'],
  // Of several pictures others may still be on their way to the disk: nobody else may write into their memory.
  ['not taken by the disk', good, (world) => (world.images.isDiskFull = true), 'dropped'],
])('where it is %s', async (_, pictures, prepare, way) => {
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
  for (const hold of holds) expect(hold.ways).toEqual([way]);
});

function refuseDownloads(world: World): void {
  world.downloads.answer = () => ({ kind: 'download-failed', text: 'the host answered 404' });
}
