/** Promise: the memory reserved for a picture is always released, whatever happens to the picture. */
import { expect, it } from 'vitest';
import type { FoundPicture } from '../../../src/runner/core/picture.ts';
import type { MemoryShare } from '../../../src/runner/pipeline/ports.ts';
import { manifestOf, World } from '../../fakes/world.ts';

class CountedShare implements MemoryShare {
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
])('the memory of a picture is released if it is %s', async (_, pictures, prepare) => {
  const shares: CountedShare[] = [];
  const world = new World();
  prepare(world);
  world.service.instead.status = () => {
    const share = new CountedShare();
    shares.push(share);
    return { kind: 'completed', status: 'COMPLETED', pictures, share };
  };
  await world.run({ manifest: manifestOf([['a', 'a hill']]) });
  expect(shares.length).toBeGreaterThan(0);
  for (const share of shares) expect(share.bytes).toBe(0);
});

it('memory is reserved once for all pictures that a job names, before the first', async () => {
  const world = new World();
  const pictures = ['a', 'b', 'c'].map((name) => ({ url: `https://cdn.example/${name}.png` }));
  const share = new CountedShare(0);
  world.service.instead.status = () => ({ kind: 'completed', status: 'COMPLETED', pictures, share });
  await world.run({ manifest: manifestOf([['a', 'a hill']]) });
  expect(world.downloads.rooms).toEqual([3, undefined, undefined]);
});

function refuseDownloads(world: World): void {
  world.downloads.answer = () => ({ kind: 'download-failed', text: 'the host answered 404' });
}
