/** Promise: pictures say where they come from where that is asked for, never with the key, and `inspect` prints it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { finishedBatch, folderWith, inProcess, linesOf, pipeline, serve, testKey } from './cli.ts';

const env = { NIGHTRENDER_API_KEY: testKey };
const list = 'id,scene\na,"Sea \u001B[31mred\u202E"\nb,Hills\n';

it.each(['embed', 'sidecar'])(
  '%s: every picture does, and all of it is as it was recorded',
  async (metadata) => {
    const { url } = await serve(folderWith({}));
    const yaml = pipeline(url, 'input: {scene: "{{ scene }}", width: 64, height: 48}\n');
    const cwd = folderWith({
      'pipeline.yaml': yaml.replace('  dir: out\n', `  dir: out\n  metadata: ${metadata}\n`),
      'scenes.csv': list,
    });
    const run = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, env });
    expect(run.code, run.stderr).toBe(0);
    expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(0);
    expect(existsSync(join(cwd, 'out/images/a.json'))).toBe(metadata === 'sidecar');
    const { stdout } = await inProcess(['inspect', 'out/images/a.png', '--json'], { cwd });
    const told = JSON.parse(stdout) as { sha256: string; provenance: { jobId: string } };
    expect(told).toMatchObject({
      format: 'png',
      from: metadata === 'embed' ? 'embedded' : 'sidecar',
      provenance: {
        scene: 'a',
        prompt: 'Sea \u001B[31mred\u202E',
        input: { width: 64 },
        endpoint: { baseUrl: url },
      },
    });
    const results = readFileSync(join(cwd, 'out/report/results.csv'), 'utf8');
    expect(results).toContain(told.sha256);
    expect(results).toContain(told.provenance.jobId);
    const shown = await inProcess(['inspect', 'out/images/a.png'], { cwd });
    expect(shown.stdout).toContain('out/images/a.png: PNG, 64 × 48 pixels');
    expect(shown.stdout).toMatch(/^ {2}prompt +Sea \\x1b\[31mred\\u202e$/m);
    for (const text of [stdout, shown.stdout, readFileSync(join(cwd, 'out/images/a.png'), 'latin1')])
      expect(text).not.toContain(testKey);
    // An edited row takes its picture, and what is beside it, out of the way.
    writeFileSync(join(cwd, 'scenes.csv'), list.replace('Hills', 'Dunes'));
    expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, env })).code).toBe(0);
    const { stdout: edited } = await inProcess(['inspect', 'out/images/b.png', '--json'], { cwd });
    expect(JSON.parse(edited)).toMatchObject({ provenance: { prompt: 'Dunes' } });
  },
);

it('`inspect` takes several pictures: a block or a JSON line for each, and names `explain` where a picture says nothing', async () => {
  const files = {
    'pipeline.yaml': pipeline('local', 'input: {scene: "{{ scene }}", width: 64, height: 48}\n'),
  };
  const cwd = await finishedBatch({ ...files, 'scenes.csv': list });
  writeFileSync(join(cwd, 'note.png'), 'no picture');
  const given = ['inspect', 'out/images/a.png', 'note.png', 'out/images/b.png'];
  const { code, stdout, stderr } = await inProcess(given, { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining('note.png: it is not a picture')]);
  const [first = '', second = '', ...more] = stdout.split('\n\n');
  expect([first, second]).toEqual([
    expect.stringMatching(/^out\/images\/a\.png: PNG, 64 × 48/),
    expect.stringMatching(/^out\/images\/b\.png: PNG, 64 × 48/),
  ]);
  expect(more).toEqual([]);
  const [, explain = ''] = /No provenance found\..* `nightrender (.*)`/.exec(second) ?? [];
  const explained = await inProcess(explain.split(' '), { cwd });
  expect(explained.stdout).toContain('Hills');

  const json = await inProcess([...given, '--json'], { cwd });
  expect(linesOf(json)).toMatchObject([
    { type: 'picture', file: 'out/images/a.png' },
    { type: 'picture', file: 'out/images/b.png' },
    { type: 'refused', exitCode: 2 },
  ]);
});

it('`inspect` without a picture ends with 2, in a sentence', async () => {
  const cwd = folderWith({ 'a.png': 'no picture' });
  const wrong = await inProcess(['inspect', 'a.png'], { cwd });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('a.png: it is not a picture');
  const none = await inProcess(['inspect'], { cwd });
  expect(none.code).toBe(2);
  expect(none.stderr).toContain('Specify a picture.');
});
