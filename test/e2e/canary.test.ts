/** Promise: the key never reaches a log, an event, the checkpoint, the report or an error text. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { send } from '../faults/answers.ts';
import { firstTier, isWhole } from '../fakes/tier.ts';
import { folderWith, nightOf, nightWith, pipeline, scenes, serve, testKey } from './cli.ts';
import { Served } from './served.ts';
import { startStandIn } from './stand-ins.ts';

const smallScenes = 'id,scene,width,height\ns0,A hill,32,32\n';
const env = { NIGHTRENDER_API_KEY: testKey };

firstTier.it('a complete run keeps the key out of its files and outputs', async () => {
  const dir = folderWith({});
  const { url, program } = await Served.start(dir, [], env);
  const night = nightOf(url, smallScenes);
  const said = [
    await night.with({ env }).run('--json'),
    await night.with({ env }).run(),
    await night.with({ env }).status('--json'),
    await night.with({ env }).do('report'),
  ];
  expect(said.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(said.map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain(testKey);
  expect(program.stdout + program.stderr).not.toContain(testKey);
  expect(filesHolding(testKey, night.path('out'))).toEqual([]);
  expect(filesHolding(testKey, join(dir, 'service'))).toEqual([]);
});

it('a run keeps the key out of its files and outputs if the service repeats it everywhere', async () => {
  for (const status of [200, 400, 401, 404, 429, 500]) {
    const { url } = await startEchoingService(status, isWhole ? Infinity : 4);
    const limits = isWhole ? 'limits: {for: 1s}\n' : '';
    const night = nightOf(url, 2, `${limits}retry: {submissions: 2, firstWait: 1ms, longestWait: 2ms}`);
    const { code, stdout, stderr } = await night.with({ env }).run('--json');
    expect(code, `${status}: ${stderr}`).toBeGreaterThan(2);
    expect(stdout + stderr, `answers ${status}`).not.toContain(testKey);
    expect(filesHolding(testKey, night.path('out')), `answers ${status}`).toEqual([]);
  }
});

firstTier.it(
  'a key in pipeline.yaml itself appears neither in the warning about it nor in problems',
  async () => {
    const { url } = await serve(folderWith({}));
    const literal = pipeline(url).replace('${NIGHTRENDER_API_KEY}', testKey);
    const night = nightWith({ 'pipeline.yaml': literal, 'scenes.csv': smallScenes });
    const good = await night
      .run()
      .exits(0)
      .warns('warning: pipeline.yaml:5:11: the API key is written in the file');
    expect(good.stdout + good.stderr).not.toContain(testKey);
    const broken = nightWith({
      'pipeline.yaml': literal.replace('scene-renderer', `"${testKey} !"`),
      'scenes.csv': scenes(1),
    });
    const bad = await broken.run('--json').exits(2);
    expect(bad.stdout + bad.stderr).not.toContain(testKey);
  },
);

/**
 * Starts a service whose answers repeat the API key in every possible place. After `most` answers it is
 * reachable and rejects the key, which ends the run.
 */
function startEchoingService(status: number, most: number) {
  let answers = 0;
  return startStandIn({
    meet: ({ key, operation, response }) => {
      answers += 1;
      const body = {
        error: `refused ${key}`,
        message: [key],
        status: `SAYS ${key}`,
        output: [{ error: key }],
      };
      const headers = { 'content-type': 'application/json', 'retry-after': '0', location: `/?${key}` };
      const last = operation === 'health' ? 200 : 401;
      send(response, answers > most ? last : status, JSON.stringify(body), headers);
    },
  });
}

function filesHolding(text: string, dir: string): string[] {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name));
  return files.filter((file) => statSync(file).isFile() && readFileSync(file).includes(text));
}
