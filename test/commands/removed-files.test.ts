/** Promise: if the checkpoint or its folder is removed during a run, the last lines say what is lost and what to do. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { run } from '../../src/commands/run.ts';
import { startStandIn } from '../e2e/stand-ins.ts';
import { tempFolder } from '../runner/config/pipeline-file.ts';
import { heard } from './heard.ts';

it.each([
  { gone: 'out/checkpoint.sqlite', rows: 3, inFlight: false },
  { gone: 'out/checkpoint.sqlite', rows: 1, inFlight: false },
  { gone: 'out', rows: 3, inFlight: true },
])(
  'a run of $rows scenes says what is lost if $gone is removed during it',
  async ({ gone, rows, inFlight }) => {
    const dir = tempFolder();
    let submissions = 0;
    const { url } = await startStandIn({
      plan: () => {
        submissions += 1;
        if (submissions === 1) rmSync(join(dir, gone), { recursive: true });
        return {};
      },
    });
    const file = join(dir, 'pipeline.yaml');
    const more = 'concurrency: 1\npolling: {shortest: 50ms}';
    writeFileSync(
      file,
      `endpoint: {baseUrl: "${url}", id: e}\noutput: {dir: out}\nmanifest: a.txt\n${more}\n`,
    );
    writeFileSync(join(dir, 'a.txt'), ['hills\n', 'sea\n', 'moon\n'].slice(0, rows).join(''));
    vi.stubEnv('NIGHTRENDER_API_KEY', 'k');
    const { code, said } = await heard(() => run(file, {}));
    vi.unstubAllEnvs();
    expect(code).toBe(14);
    expect(said).toMatch(
      new RegExp(`${gone}\\S* was removed during the run, and the record of this batch is lost`, 'i'),
    );
    if (inFlight) expect(said).toContain('Jobs in flight (1) may still be billed');
    expect(said).toContain('put a copy back; or start the run again, with --adopt');
    expect(said).not.toMatch(/Nothing is lost|goes on|^ +at /m);
  },
);
