/** Promise: the report has a thumbnail of every picture; `report` makes those that are missing, and nothing waits for them. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, inProcess, newBatch, pipeline, scenes } from './cli.ts';

const large = 'input: {scene: "{{ scene }}", width: 400, height: 300}\n';

it('a run makes them, and `report` makes those that are missing', async () => {
  const cwd = newBatch('local', 4, large);
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd })).code).toBe(0);
  expect(thumbnails(cwd)).toHaveLength(4);
  const [first = ''] = thumbnails(cwd);
  rmSync(join(cwd, 'out/report/thumbnails', first));
  rmSync(join(cwd, 'out/images/s2.png'));
  const again = await inProcess(['report', 'pipeline.yaml'], { cwd });
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout.trim().split('\n')).toHaveLength(4);
  expect(again.stderr).toMatch(
    /^(Missing thumbnails created for 1 picture|1 picture has no thumbnail: .*verify)/,
  );
  rmSync(join(cwd, 'out/report/thumbnails'), { recursive: true });
  const { stdout } = await inProcess(['report', 'pipeline.yaml', '--json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ type: 'files-written', thumbnails: { made: 3, lacking: 1 } });
  expect(thumbnails(cwd)).toHaveLength(3);
});

it('none are made where none are wanted', async () => {
  const yaml = pipeline('local', `${large}report: {thumbnails: false}\n`);
  const cwd = folderWith({ 'pipeline.yaml': yaml, 'scenes.csv': scenes(2) });
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd })).code).toBe(0);
  const { stdout } = await inProcess(['report', 'pipeline.yaml', '--json'], { cwd });
  expect(JSON.parse(stdout)).not.toHaveProperty('thumbnails');
  expect(existsSync(join(cwd, 'out/report/thumbnails'))).toBe(false);
  writeFileSync(join(cwd, 'pipeline.yaml'), yaml.replace('false', 'sometimes'));
  const wrong = await inProcess(['report', 'pipeline.yaml'], { cwd });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('report.thumbnails is "sometimes"; expected true or false');
});

function thumbnails(cwd: string): string[] {
  return readdirSync(join(cwd, 'out/report/thumbnails'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.jpg'),
  );
}
