/** Promise: a photo that a row names is sent as it is when the list is read; an edited one is another scene, and the checkpoint holds none. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, inProcess, pipeline, withKey } from './cli.ts';
import { startInstantService } from './stand-ins.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

it('sends it whole, and again when it was edited', async () => {
  const service = await startInstantService([{ rendered_image: png, seed: 1 }]);
  const more = 'input: {scene: "{{ scene }}", image: "data:image/png;base64,{{ photo | file_base64 }}"}\n';
  const cwd = folderWith({
    'pipeline.yaml': pipeline(service.url, more),
    'scenes.csv': 'id,scene,photo\na,hills,a.png\nb,sea,b.png\n',
  });
  const photo = (fill: string): Buffer => Buffer.alloc(300_000, fill);
  writeFileSync(join(cwd, 'a.png'), photo('a'));
  writeFileSync(join(cwd, 'b.png'), photo('b'));
  const sent = (fill: string): string => `data:image/png;base64,${photo(fill).toString('base64')}`;
  const options = { cwd, ...withKey };

  expect((await inProcess(['run', 'pipeline.yaml', '--json'], options)).code).toBe(0);
  expect(new Set(service.inputs)).toEqual(
    new Set([
      { scene: 'hills', image: sent('a') },
      { scene: 'sea', image: sent('b') },
    ]),
  );
  expect(readFileSync(join(cwd, 'out/checkpoint.sqlite')).length).toBeLessThan(300_000);

  writeFileSync(join(cwd, 'b.png'), photo('c'));
  const again = await inProcess(['run', 'pipeline.yaml', '--json'], options);
  expect(again.code).toBe(0);
  expect(again.stdout).toContain('"changed":1,"unchanged":1');
  expect(service.inputs.slice(2)).toEqual([{ scene: 'sea', image: sent('c') }]);
});

it('is refused with the row where it is not there', async () => {
  const cwd = folderWith({
    'pipeline.yaml': pipeline('local', 'input: {scene: "{{ scene }}", image: "{{ photo | file_base64 }}"}\n'),
    'scenes.csv': 'id,scene,photo\na,hills,a.png\nb,sea,../../etc/passwd\n',
  });
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain('scenes.csv:2: "a.png" is not there (looked for in ');
  expect(stderr).toContain('scenes.csv:3: "../../etc/passwd" leads out of the folder of pipeline.yaml');
});

it('is named to people, wherever they look at what was sent', async () => {
  const more = 'input: {scene: "{{ scene }}", image: "data:image/png;base64,{{ photo | file_base64 }}"}\n';
  const cwd = folderWith({
    'pipeline.yaml': pipeline('local', more).replace('dir: out', 'dir: out\n  metadata: embed'),
    'scenes.csv': 'id,scene,photo\na,hills,photo.png\n',
  });
  writeFileSync(join(cwd, 'photo.png'), Buffer.alloc(2_325_000, 'a'));
  const named = 'data:image/png;base64,<photo.png, 3.1 MB as base64>';
  const told = async (...args: string[]): Promise<string> => {
    const { stdout, code } = await inProcess(args, { cwd });
    expect(code).toBe(0);
    expect(stdout).not.toContain('$file_base64');
    return stdout;
  };
  expect(await told('plan', 'pipeline.yaml')).toContain(named);
  await told('run', 'pipeline.yaml');
  expect(await told('explain', 'pipeline.yaml', 'a')).toContain(named);
  expect(await told('inspect', 'out/images/a.png')).toContain(named);
  const gallery = join(cwd, 'out/report/gallery');
  const pages = readdirSync(gallery, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(gallery, file), 'utf8'));
  expect(pages.join('')).toContain('photo.png, 3.1 MB as base64>');
});
