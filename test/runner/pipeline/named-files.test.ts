/**
 * Promise: a saved scene has all requested files, each under its own name. Otherwise the scene has failed.
 */
import { expect, it } from 'vitest';
import { rememberBatch, type BatchIdentity } from '../../../src/runner/checkpoint/batch-identity.ts';
import { readIdsLacking } from '../../../src/runner/checkpoint/recorded-pictures.ts';
import type { FailureKind } from '../../../src/runner/core/failure.ts';
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

it('saves files beside the picture, and records what each is', async () => {
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
  // No sidecar is made of these files.
  expect(world.images.sidecars.size).toBe(0);
});

it('saves nothing of a job with a damaged file, and names the file', async () => {
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
  'two scenes never get the same file, and no file gets the name of a picture or of its sidecar (%s)',
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
  // The checkpoint is lost. The run notices the existing files, and adopts them if requested.
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

it('adopts scenes whose checkpoint was lost with all of their files, or not at all', async () => {
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

it('leaves saved scenes alone when another file is configured, and says how many lack it', async () => {
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
  // A file of another kind is another file.
  expect(readIdsLacking(world.db, [{ label: 'mask', kind: 'exr' }])).toEqual(['a', 'b', 'c']);
});

it('puts a scene back as a whole if one of its files is lost or damaged', async () => {
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

it('keeps the bytes of a clip that is not whole, and renders its scene again only on request', async () => {
  const world = new World((scene, nth) => ({
    pictures: [{ ...pictureOf(scene === 'sea' && nth === 1 ? 'a bad job' : scene), isClip: true }],
  }));
  const manifest = manifestOf([
    ['a', 'sea'],
    ['b', 'hills'],
  ]);
  const clips = outputWith({ media: 'video', name: { renderText: ({ id }) => `${id as string}.mp4.png` } });
  for (const _ of ['first', 'second'])
    expect(await world.run({ manifest, settings: clips })).toMatchObject({ ending: { kind: 'incomplete' } });
  expect(filesIn(world)).toEqual(['a.png.damaged', 'b.png']);
  expect(['sea', 'hills'].map((scene) => world.service.submissionsOf(scene))).toEqual([1, 1]);
  const [failed] = world.rows<{ kind: string; text: string }>(
    'SELECT failure_kind AS kind, failure_text AS text FROM scenes WHERE failure_kind IS NOT NULL',
  );
  expect(failed).toEqual({
    kind: 'bad-clip',
    text: 'the clip is cut; the received files are kept as a.png.damaged',
  });
});

it.each<[string, FailureKind, string[]]>([
  [
    'a clip of a format that is not saved',
    'output-unsupported',
    ['a-2.png.kept', 'a-sound.wav.kept', 'a.png.kept'],
  ],
  ['a clip that is not whole', 'bad-clip', ['a-2.png.damaged', 'a-sound.wav.kept', 'a.png.kept']],
])('keeps the files beside %s, because they are paid for', async (_, kind, files) => {
  const clipOf = (text: string) => ({ ...pictureOf(text), isClip: true as const });
  const world = new World(() => ({
    pictures: [clipOf('good'), clipOf('refused'), fileOf('sound', 'wav', 'good sound')],
  }));
  const { check } = world.images;
  world.images.check = async (held, provenance) =>
    JSON.stringify(held).includes(JSON.stringify(pictureOf('refused')).slice(1, -1))
      ? { kind, text: 'it is refused', digest: 'refused' }
      : check.call(world.images, held, provenance);
  const clips = outputWith({ media: 'video', files: [{ label: 'sound', kind: 'wav' }] });
  await world.run({ manifest: manifestOf([['a', 'sea']]), settings: clips });
  expect(filesIn(world)).toEqual(files);
  const [failed] = world.rows<{ text: string }>('SELECT failure_text AS text FROM scenes');
  expect(failed?.text).toMatch(
    /^it is refused; the received files are kept as a\.png\.kept, a-2\.png\..*, a-sound\.wav\.kept$/,
  );
});
