/**
 * Promise: a photo that a row names is sent unchanged since the list was read. An edited photo is another
 * scene, and the checkpoint stores no photo.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nightOf, nightWith, pipeline } from './cli.ts';
import { startInstantService } from './stand-ins.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

it('a photo is sent whole, and again after it was edited', async () => {
  const service = await startInstantService([{ rendered_image: png, seed: 1 }]);
  const more = 'input: {scene: "{{ scene }}", image: "data:image/png;base64,{{ photo | file_base64 }}"}\n';
  const night = nightOf(service.url, 'id,scene,photo\na,hills,a.png\nb,sea,b.png\n', more);
  const photo = (fill: string): Buffer => Buffer.alloc(300_000, fill);
  night.write('a.png', photo('a'));
  night.write('b.png', photo('b'));
  const sent = (fill: string): string => `data:image/png;base64,${photo(fill).toString('base64')}`;

  await night.run('--json').exits(0);
  expect(new Set(service.inputs)).toEqual(
    new Set([
      { scene: 'hills', image: sent('a') },
      { scene: 'sea', image: sent('b') },
    ]),
  );
  expect(readFileSync(night.path('out/checkpoint.sqlite')).length).toBeLessThan(300_000);

  night.write('b.png', photo('c'));
  await night.run('--json').exits(0, '"changed":1,"unchanged":1');
  expect(service.inputs.slice(2)).toEqual([{ scene: 'sea', image: sent('c') }]);
});

it('a missing photo is rejected with its row', async () => {
  const night = nightOf(
    'local',
    'id,scene,photo\na,hills,a.png\nb,sea,../../etc/passwd\n',
    'input: {scene: "{{ scene }}", image: "{{ photo | file_base64 }}"}\n',
  );
  await night
    .run()
    .fails(
      2,
      'scenes.csv:2: "a.png" is not there (looked for in ',
      'scenes.csv:3: "../../etc/passwd" leads out of the folder of pipeline.yaml',
    );
});

it('a photo is shown by its name wherever the input is shown', async () => {
  const more = 'input: {scene: "{{ scene }}", image: "data:image/png;base64,{{ photo | file_base64 }}"}\n';
  const night = nightWith({
    'pipeline.yaml': pipeline('local', more).replace('dir: out', 'dir: out\n  metadata: embed'),
    'scenes.csv': 'id,scene,photo\na,hills,photo.png\n',
  });
  night.write('photo.png', Buffer.alloc(2_325_000, 'a'));
  const named = 'data:image/png;base64,<photo.png, 3.1 MB as base64>';
  const told = async (...args: string[]): Promise<string> => {
    const { stdout } = await night
      .start(...args)
      .exits(0)
      .printsNo('$file_base64');
    return stdout;
  };
  expect(await told('plan', 'pipeline.yaml')).toContain(named);
  await told('run', 'pipeline.yaml');
  expect(await told('explain', 'pipeline.yaml', 'a')).toContain(named);
  expect(await told('explain', 'out/images/a.png')).toContain(named);
  const gallery = night.path('out/report/gallery');
  const pages = readdirSync(gallery, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(gallery, file), 'utf8'));
  expect(pages.join('')).toContain('photo.png, 3.1 MB as base64>');
});
