/**
 * Promise: two pictures of a batch never have the same id, and no stage renders a picture again because a
 * scene now has its id.
 */
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { linesOf, nightWith, pipeline } from './cli.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

let tones = 0;

async function picture(): Promise<{ image: string }> {
  tones += 1;
  const background = { r: tones, g: 40, b: 80 };
  const made = sharp({ create: { width: 64, height: 48, channels: 3, background } }).png();
  return { image: (await made.toBuffer()).toString('base64') };
}

/** Creates a batch with two pictures of each scene, and a stage that takes them all. */
async function twoOfEach() {
  const pairs = await Promise.all(Array.from({ length: 6 }, async () => [await picture(), await picture()]));
  const rendering = await startStandIn({
    plan: () => {
      const pair = pairs.pop();
      return { end: () => completed(pair) };
    },
  });
  const image = await blackPicture();
  const scaling = await startStandIn({ plan: () => ({ end: () => completed([{ image }]) }) });
  const stage = pipeline(scaling.url, "input: {image: '{{ picture | file_base64 }}', of: '{{ id }}'}\n")
    .replace('manifest: scenes.csv', 'scenes: {from: render.yaml}')
    .replace('dir: out', 'dir: large');
  const batch = nightWith({
    'render.yaml': pipeline(rendering.url, "input: {scene: '{{ prompt }}'}\n"),
    'upscale.yaml': stage,
  });
  const start = (...args: string[]) => batch.start(...args);
  const night = async (...ids: string[]): Promise<unknown[]> => {
    batch.write('scenes.csv', ['id,prompt', ...ids.map((id) => `${id},of ${id}`), ''].join('\n'));
    const before = scaling.inputs.length;
    await start('run', 'render.yaml', 'upscale.yaml', '--quiet').exits(0);
    return scaling.inputs
      .slice(before)
      .map(({ of }) => (typeof of === 'string' ? of : ''))
      .toSorted((a, b) => (a < b ? -1 : 1));
  };
  const exported = async (): Promise<unknown[]> => {
    await start('export', 'render.yaml', 'table', '--to', 'imagefolder').exits(0);
    const metadata = batch.read('table/metadata.jsonl');
    return linesOf({ stdout: metadata }).map(({ id }) => id);
  };
  return { night, exported };
}

it('a scene keeps its id if a second picture of another scene would get the same one in that night', async () => {
  const { night, exported } = await twoOfEach();
  expect(await night('x', 'x.2', 'x.2~')).toEqual(['x', 'x.2', 'x.2.2', 'x.2~', 'x.2~.2', 'x.2~~']);
  expect(await exported()).toEqual(['x', 'x.2~~', 'x.2', 'x.2.2', 'x.2~', 'x.2~.2']);
});

it('a picture keeps the id that a stage knows, if a scene with that id comes later', async () => {
  const { night, exported } = await twoOfEach();
  expect(await night('x', 'y')).toEqual(['x', 'x.2', 'y', 'y.2']);
  expect(await night('x', 'y', 'x.2')).toEqual(['x.2.2', 'x.2~']);
  expect(await night('x', 'y', 'x.2', 'y.10')).toEqual(['y.10', 'y.10.2']);
  expect(await exported()).toEqual(['x', 'x.2', 'y', 'y.2', 'x.2~', 'x.2.2', 'y.10', 'y.10.2']);
});
