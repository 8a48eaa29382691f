/** Promise: a run does not report every scene as saved if a recorded picture no longer exists. */
import { describe, expect, it } from 'vitest';
import { manifestOf, World } from '../../fakes/world.ts';

const abc = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'moon'],
]);

async function rendered(): Promise<World> {
  const world = new World();
  await world.run({ manifest: abc });
  world.events.length = 0;
  return world;
}

function warnings({ events }: World): string[] {
  return events.flatMap((event) => (event.type === 'warning' ? event.text : []));
}

describe('a run whose pictures are not there', () => {
  it('with nothing to do warns, sends nothing and is incomplete', async () => {
    const world = await rendered();
    world.images.files.delete('a.png');
    world.images.files.set('c.png', 'cut');
    const result = await world.run({ manifest: abc });
    const text = '2 of 3 saved files are missing or have another size, such as a.png';
    expect(result).toMatchObject({ ending: { kind: 'incomplete', text }, missingPictures: 2 });
    expect(warnings(world)).toEqual([expect.stringContaining(text)]);
    expect(world.service.jobs).toHaveLength(3);
  });

  it('says so too if the folder goes in its middle', async () => {
    const world = new World();
    const onEvent = ({ type }: { type: string }): void => {
      if (type === 'scene-saved') world.images.files.delete('a.png');
    };
    const result = await world.run({ manifest: abc, settings: { concurrency: 1 }, onEvent });
    expect(result).toMatchObject({ ending: { kind: 'incomplete' }, counts: { saved: 3 } });
  });

  it('and that is stopped keeps its own ending, and does not claim that scenes are saved', async () => {
    const world = await rendered();
    world.images.files.clear();
    const result = await world.run({
      manifest: abc,
      onEvent: (event, stop) => {
        if (event.type === 'plan-made') stop.request('leave', { kind: 'interrupted', text: 'Ctrl-C' });
      },
    });
    expect(result).toMatchObject({ ending: { kind: 'interrupted', text: 'Ctrl-C' } });
  });

  it('ignores pictures of rows that are no longer listed', async () => {
    const world = await rendered();
    world.images.files.delete('c.png');
    const ab = manifestOf([
      ['a', 'sea'],
      ['b', 'hills'],
    ]);
    expect(await world.run({ manifest: ab })).toMatchObject({ ending: { kind: 'complete' } });
    expect(warnings(world)).toEqual([]);
  });
});
