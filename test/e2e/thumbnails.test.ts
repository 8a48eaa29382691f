/**
 * Promise: the report has a thumbnail of every picture. `report` makes missing ones, and nothing waits for
 * thumbnails.
 */
import { readdirSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Night, nightOf, nightWith, pipeline, scenes } from './cli.ts';

const large = 'input: {scene: "{{ scene }}", width: 400, height: 300}\n';

it('a run makes thumbnails, and `report` makes missing ones', async () => {
  const night = nightOf('local', 4, large);
  await night.run('--quiet').exits(0);
  expect(thumbnails(night)).toHaveLength(4);
  const [first = ''] = thumbnails(night);
  rmSync(night.path('out/report/thumbnails', first));
  rmSync(night.path('out/images/s2.png'));
  const again = await night.do('report').exits(0);
  expect(again.stdout.trim().split('\n')).toHaveLength(4);
  expect(again.stderr).toMatch(/^(Missing thumbnails created for 1 file|1 file has no thumbnail: .*verify)/);
  rmSync(night.path('out/report/thumbnails'), { recursive: true });
  const { stdout } = await night.do('report', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ type: 'files-written', thumbnails: { made: 3, lacking: 1 } });
  expect(thumbnails(night)).toHaveLength(3);
});

it('no thumbnails are made if they are disabled', async () => {
  const yaml = pipeline('local', `${large}report: {thumbnails: false}\n`);
  const night = nightWith({ 'pipeline.yaml': yaml, 'scenes.csv': scenes(2) });
  await night.run('--quiet').exits(0);
  const { stdout } = await night.do('report', '--json');
  expect(JSON.parse(stdout)).not.toHaveProperty('thumbnails');
  expect(night.has('out/report/thumbnails')).toBe(false);
  night.write('pipeline.yaml', yaml.replace('false', 'sometimes'));
  await night.do('report').fails(2, 'report.thumbnails is "sometimes"; expected true or false');
});

function thumbnails(night: Night): string[] {
  return readdirSync(night.path('out/report/thumbnails'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.jpg'),
  );
}
