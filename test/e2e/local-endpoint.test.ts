/**
 * Promise: an endpoint that the local service does not have is rejected before anything is sent. An earlier
 * batch with such an endpoint continues.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { type Night, nightWith, pipeline, scenes } from './cli.ts';

const small = 'input: {scene: "{{ scene }}", width: 64, height: 64}\n';

function batchAt(id: string): Night {
  const text = pipeline('local', small).replace('scene-renderer', id);
  return nightWith({ 'pipeline.yaml': text, 'scenes.csv': scenes(3) });
}

it.each([
  ['scene-rendrer', '; did you mean scene-renderer?'],
  ['Painter', '; did you mean painter?'],
  ['my-endpoint', '\n'],
])('refuses %s, in run and plan', async (id, hint) => {
  const night = batchAt(id);
  const said = `pipeline.yaml:4:7: endpoint.id is "${id}", but the local service has only scene-renderer and painter${hint}`;
  for (const command of ['plan', 'run']) {
    await night.do(command).fails(2, said);
  }
  expect(night.has('out/local-service')).toBe(false);
});

it('accepts the endpoint id `painter` of earlier versions', async () => {
  const { code, stderr } = await batchAt('painter').run('--quiet');
  expect([code, stderr]).toEqual([0, '']);
});

it('continues with a batch that began under another id, as earlier versions allowed', async () => {
  const night = batchAt('scene-renderer');
  await night.run('--quiet', '--limit', '1');
  asBegunAt(night, 'x');
  // This test has changed the checkpoint outside the program, so the change must be accepted first.
  await night.verify('--repair');
  await night.plan().exits(0).warnsOnly('');
  await night.run('--quiet').exits(0).warnsOnly('');
  expect(await night.state()).toMatchObject({ summary: { attempts: { total: 3, saved: 3 } } });
  expect(night.localJobs()).toBe(3);
});

/** Leaves the batch as an earlier version did, which accepted any endpoint id. */
function asBegunAt(night: Night, id: string): void {
  const file = night.path('pipeline.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('scene-renderer', id));
  const db = new Sqlite(night.path('out/checkpoint.sqlite'));
  db.prepare("UPDATE batch SET value = json_set(value, '$.endpoint.id', ?) WHERE name = 'batch'").run(id);
  db.prepare('UPDATE attempts SET endpoint_id = ?').run(id);
  db.close();
}
