/** Promise: a scene has all of the files that were asked for, each under a name of its own, or it has failed. */
import { expect, it } from 'vitest';
import { rememberBatch, type BatchIdentity } from '../../../src/runner/checkpoint/batch-identity.ts';
import { readIdsLacking } from '../../../src/runner/checkpoint/recorded-pictures.ts';
import { noPicture, type FilePlace } from '../../../src/runner/core/picture.ts';
import { fileOf, pictureOf, type Behaviour } from '../../fakes/fake-service.ts';
import { endpoint, manifestOf, outputWith, World } from '../../fakes/world.ts';

const mask: FilePlace = { label: 'mask', kind: 'png', at: ['mask'] };
const camera: FilePlace = { label: 'camera', kind: 'json', at: ['camera'] };
const settings = outputWith({ files: [mask, camera] });

const abc = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'moon'],
]);

const withFiles: Behaviour = (scene) => ({
  pictures: [
    pictureOf(scene),
    fileOf('mask', 'png', `mask of ${scene}`),
    fileOf('camera', 'json', `camera of ${scene}`),
  ],
});

const filesIn = (world: World): string[] => [...world.images.files.keys()].toSorted();

interface FileRow {
  file: string;
  label: string | null;
}

it('saves them beside the picture, and puts down what each is', async () => {
  const world = new World(withFiles);
  expect(await world.run({ manifest: abc, settings })).toMatchObject({ ending: { kind: 'complete' } });
  const names = ['a', 'b', 'c'].flatMap((id) => [`${id}-camera.json`, `${id}-mask.png`, `${id}.png`]);
  expect(filesIn(world)).toEqual(names);
  const rows = world.rows<FileRow>("SELECT file, label FROM pictures WHERE file LIKE 'a%' ORDER BY number");
  expect(rows).toEqual([
    { file: 'a.png', label: null },
    { file: 'a-mask.png', label: 'mask' },
    { file: 'a-camera.json', label: 'camera' },
  ]);
  expect(world.events.find(({ type }) => type === 'scene-saved')).toMatchObject({
    files: ['a.png', 'a-mask.png', 'a-camera.json'],
  });
  // Of what they have no sidecar is made.
  expect(world.images.sidecars.size).toBe(0);
});

it('saves nothing of a job one of whose files is not whole, and says which', async () => {
  const world = new World((scene, nth) => ({
    pictures: [pictureOf(scene), fileOf('mask', 'png'), fileOf('camera', 'json', `bad ${nth}`)],
  }));
  expect(await world.run({ manifest: manifestOf([['a', 'sea']]), settings })).toMatchObject({
    ending: { kind: 'incomplete' },
  });
  expect(filesIn(world)).toEqual([]);
  const [failed] = world.rows<{ kind: string; text: string }>(
    'SELECT failure_kind AS kind, failure_text AS text FROM scenes',
  );
  expect(failed).toEqual({ kind: 'bad-file', text: 'the file camera is cut' });
});

it.each([
  ['beside another', settings],
  ['alone', outputWith({ files: [camera] })],
])(
  'gives no two scenes the same file, nor a file the name of a picture or of its sidecar (%s)',
  async (_, given) => {
    const world = new World(withFiles);
    world.images.hasProvenance = true;
    const manifest = manifestOf([
      ['a-camera', 'sea'],
      ['a', 'hills'],
      ['a-mask', 'moon'],
      ['A', 'sun'],
    ]);
    expect(await world.run({ manifest, settings: given })).toMatchObject({ ending: { kind: 'complete' } });
    const rows = world.rows<{ id: string; file: string; file_key: string }>(
      'SELECT s.id, p.file, p.file_key FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)',
    );
    expect(new Set(rows.map(({ file_key }) => file_key)).size).toBe(12);
    for (const { id, file } of rows) expect(file.toLowerCase().startsWith(id.toLowerCase())).toBe(true);
    const pictures = new Set(rows.map(({ file }) => file));
    for (const file of pictures)
      if (file.endsWith('.json')) expect(pictures).not.toContain(file.replace(/json$/, 'png'));
  },
);

it('saves files of jobs that give no picture, under the names that pictures would have', async () => {
  const world = new World(() => ({ pictures: [fileOf('mask', 'png'), fileOf('camera', 'json')] }));
  const alone = outputWith({ files: [mask, camera], image: noPicture });
  expect(await world.run({ manifest: abc, settings: alone })).toMatchObject({ ending: { kind: 'complete' } });
  expect(filesIn(world).slice(0, 2)).toEqual(['a-camera.json', 'a-mask.png']);
  // The checkpoint is lost: what is there is noticed, and taken over where that is wanted.
  world.db.exec('DELETE FROM pictures; DELETE FROM attempts; DELETE FROM scenes; DELETE FROM batch');
  await expect(world.run({ manifest: abc, settings: alone })).rejects.toThrow(
    '3 scenes that wait have a picture',
  );
  world.images.files.set('b-camera.json', 'bad');
  const adopting = { ...alone, unknownPictures: 'adopt' } as const;
  expect(await world.run({ manifest: abc, settings: adopting })).toMatchObject({ counts: { saved: 3 } });
  expect(world.events.find(({ type }) => type === 'adopted')).toMatchObject({ scenes: 2, pictures: 4 });
  expect(world.service.jobs).toHaveLength(4);
});

it('takes over scenes whose checkpoint was lost with all of their files, or not at all', async () => {
  const world = new World(withFiles);
  await world.run({ manifest: abc, settings });
  world.db.exec('DELETE FROM pictures; DELETE FROM attempts; DELETE FROM scenes; DELETE FROM batch');
  world.images.files.delete('b-mask.png');
  world.events.length = 0;
  const adopting = { ...settings, unknownPictures: 'adopt' } as const;
  expect(await world.run({ manifest: abc, settings: adopting })).toMatchObject({ counts: { saved: 3 } });
  expect(world.events.find(({ type }) => type === 'adopted')).toMatchObject({
    scenes: 2,
    pictures: 2,
    examples: ['b.png: its file mask is missing'],
  });
  expect(world.service.jobs).toHaveLength(4);
  const rows = world.rows<FileRow>('SELECT file, label FROM pictures WHERE label IS NOT NULL');
  expect(rows).toHaveLength(6);
});

it('leaves saved scenes alone when another file is asked for, and says how many lack it', async () => {
  const identity: BatchIdentity = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] };
  const world = new World(withFiles);
  rememberBatch(world.db, { ...identity, files: [mask] });
  const onlyMask: Behaviour = (scene) => ({ pictures: [pictureOf(scene), fileOf('mask', 'png')] });
  world.service.behaviour = onlyMask;
  await world.run({ manifest: abc, settings: outputWith({ files: [mask] }) });
  expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
  rememberBatch(world.db, { ...identity, files: [mask, camera] });
  world.service.behaviour = withFiles;
  await world.run({ manifest: abc, settings });
  expect(world.service.jobs).toHaveLength(3);
  expect(world.events.find(({ type }) => type === 'warning')).toMatchObject({
    text: expect.stringMatching(
      /^3 saved scenes have no file camera: .* `nightrender retry <pipeline> --lacking-files`$/,
    ),
  });
  const ids = readIdsLacking(world.db, [mask, camera]);
  expect(ids).toEqual(['a', 'b', 'c']);
  await world.putBack({ kinds: [], ids: ids.slice(1), notAt: undefined, isAgain: true });
  world.events.length = 0;
  await world.run({ manifest: abc, settings });
  expect(readIdsLacking(world.db, [mask, camera])).toEqual(['a']);
  await world.run({ manifest: abc, settings });
  expect(world.events.findLast(({ type }) => type === 'warning')).toMatchObject({
    text: expect.stringMatching(/^1 saved scene has no file camera: /),
  });
  // Of another kind it is another file.
  expect(readIdsLacking(world.db, [{ label: 'mask', kind: 'exr' }])).toEqual(['a', 'b', 'c']);
});

it('puts a scene back as a whole where one of its files is lost or damaged', async () => {
  const world = new World(withFiles);
  await world.run({ manifest: abc, settings });
  world.images.files.delete('a-mask.png');
  world.images.files.set('b-camera.json', 'another');
  expect(await world.run({ manifest: abc, settings })).toMatchObject({ ending: { kind: 'incomplete' } });
  expect(await world.repair()).toMatchObject({ checked: 9, good: 7, missing: 1, damaged: 1, putBack: 2 });
  expect(filesIn(world)).toContain('b-camera.json.damaged');
  expect(await world.run({ manifest: abc, settings })).toMatchObject({ ending: { kind: 'complete' } });
  expect(world.service.jobs).toHaveLength(5);
});
