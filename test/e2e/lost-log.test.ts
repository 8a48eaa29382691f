/** Promise: what a kill and a lost log have taken is refused by `run` and `plan`, not by `status`, and declared once accepted. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, nightrender, pipeline, Program, scenes, testKey } from './cli.ts';
import { startPatientService } from './patient-service.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

it('is noticed after a real kill, and goes on only on a word', async () => {
  const service = await startPatientService();
  const cwd = folderWith({
    'pipeline.yaml': pipeline(service.url, 'concurrency: 3\n'),
    'scenes.csv': scenes(5),
  });
  const killed = new Program(['run', 'pipeline.yaml', '--json'], { cwd, env });
  await killed.event('scene-submitted', 3);
  killed.child.kill('SIGKILL');
  await killed.finish();
  rmSync(join(cwd, 'out/checkpoint.sqlite-wal'));
  for (const command of ['run', 'plan', 'cancel']) {
    const refused = await nightrender([command, 'pipeline.yaml'], { cwd, env });
    expect(refused.stderr).toMatch(/out\/checkpoint\.sqlite is lost: .*3 submissions .*--accept-loss/);
    expect(refused.code, refused.stderr).toBe(2);
  }
  expect(service.submissions).toBe(3);
  expect((await nightrender(['plan', 'pipeline.yaml', '--accept-loss'], { cwd, env })).code).toBe(0);
  const accepted = new Program(['run', 'pipeline.yaml', '--json', '--accept-loss'], { cwd, env });
  await accepted.event('scene-submitted', 3);
  accepted.child.kill('SIGTERM');
  expect((await accepted.finish()).code).toBe(143);
  const status = await nightrender(['status', 'pipeline.yaml', '--json'], { cwd, env });
  expect(JSON.parse(status.stdout)).toMatchObject({
    summary: { attempts: { total: 6, submitted: 3, unanswered: 3 } },
  });
});
