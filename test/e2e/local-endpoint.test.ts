/** Promise: an endpoint that the local service does not have is refused before anything is sent; a batch that began with one goes on. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { folderWith, inProcess, jobsOf, pipeline, scenes, statusOf } from './cli.ts';

const small = 'input: {scene: "{{ scene }}", width: 64, height: 64}\n';

function batchAt(id: string): string {
  const text = pipeline('local', small).replace('scene-renderer', id);
  return folderWith({ 'pipeline.yaml': text, 'scenes.csv': scenes(3) });
}

it.each([
  ['scene-rendrer', '; did you mean scene-renderer?'],
  ['Painter', '; did you mean painter?'],
  ['my-endpoint', '\n'],
])('refuses %s, in run and plan', async (id, hint) => {
  const cwd = batchAt(id);
  const said = `pipeline.yaml:4:7: endpoint.id is "${id}", but the local service has only scene-renderer and painter${hint}`;
  for (const command of ['plan', 'run']) {
    const { code, stderr } = await inProcess([command, 'pipeline.yaml'], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  }
  expect(existsSync(join(cwd, 'out/local-service'))).toBe(false);
});

it('paints for painter', async () => {
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd: batchAt('painter') });
  expect([code, stderr]).toEqual([0, '']);
});

it('goes on with a batch that began under another id, as earlier versions allowed', async () => {
  const cwd = batchAt('scene-renderer');
  await inProcess(['run', 'pipeline.yaml', '--quiet', '--limit', '1'], { cwd });
  asBegunAt(cwd, 'x');
  // A checkpoint that another program has changed, as this test has, is accepted by that.
  await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd });
  const planned = await inProcess(['plan', 'pipeline.yaml'], { cwd });
  expect([planned.code, planned.stderr]).toEqual([0, '']);
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  expect([code, stderr]).toEqual([0, '']);
  expect(await statusOf(cwd)).toMatchObject({ summary: { attempts: { total: 3, saved: 3 } } });
  expect(jobsOf(join(cwd, 'out/local-service'))).toBe(3);
});

/** As a version has left it that took any id. */
function asBegunAt(cwd: string, id: string): void {
  const file = join(cwd, 'pipeline.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('scene-renderer', id));
  const db = new Sqlite(join(cwd, 'out/checkpoint.sqlite'));
  db.prepare("UPDATE batch SET value = json_set(value, '$.endpoint.id', ?) WHERE name = 'batch'").run(id);
  db.prepare('UPDATE attempts SET endpoint_id = ?').run(id);
  db.close();
}
