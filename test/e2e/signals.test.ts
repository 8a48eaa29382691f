/** Promise: a signal is answered in every state, also while the manifest is read; nothing is lost, and the next run goes on. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import { firstTier, rest } from '../fakes/tier.ts';
import { type Finished, type Night, nightOf, nightWith, pipeline, small } from './cli.ts';
import { startHeldStandIn } from './stand-ins.ts';

describe.skipIf(process.platform === 'win32')(
  'while the manifest is read from a pipe that never ends',
  () => {
    firstTier.it.each([
      ['SIGINT', 130, /^Interrupted \(SIGINT\)\. .* nothing was sent or changed\.$/m],
      ['SIGTERM', 143, /^Terminated \(SIGTERM\)\. .* nothing was sent or changed\.$/m],
      ['SIGHUP', 3, /^Asked to finish \(SIGHUP\): .* nothing was sent or changed\.$/m],
    ] as const)(
      '%s ends the run with %i and a message, and the next run renders every scene',
      async (signal, code, words) => {
        const night = nightOf('local', 3, small);
        const { run, pipe } = await startReading(night);
        await pipe.write('id,scene\ns0,"Hills"\n');
        process.emit(signal, signal);
        const ended = await run;
        expect(ended.code).toBe(code);
        expect(ended.stderr).toMatch(words);
        expect(ended.stderr).not.toContain('    at ');
        expect(night.has('out')).toBe(false);
        await pipe.close();
        await night.run().exits(0);
        expect(readdirSync(night.path('out/images'))).toHaveLength(3);
      },
    );

    rest.it('a signal releases standard input, too', async () => {
      const night = nightWith({ 'pipeline.yaml': pipeline('local') });
      const stdin = `id,scene\n${'s,"x"\n'.repeat(40_000)}`;
      const run = night.with({ stdin, holdsStdin: true }).program('run', 'pipeline.yaml', '--manifest', '-');
      // The input is far larger than the buffer of a pipe, so the program is reading when the last bytes are
      // taken.
      await run.stdinTaken;
      run.child.kill('SIGTERM');
      await run.finish().exits(143);
      expect(night.has('out')).toBe(false);
    });

    firstTier.it(
      'SIGHUP collects jobs in flight, although the list may be incomplete, and the next run does the rest',
      async () => {
        const service = await startHeldStandIn();
        const night = nightOf(service.url, 9, 'concurrency: 4\n');
        await night.cutOff(4);
        service.release();
        const { run, pipe } = await startReading(night, '--json');
        await pipe.write('id,scene\ns0,"Hills and 0 trees"\n');
        process.emit('SIGHUP', 'SIGHUP');
        const { code, stdout, stderr } = await run;
        await pipe.close();
        expect(code, stderr).toBe(3);
        expect(stdout).toMatch(/"type":"recovered","at":"[^"]+","unanswered":0,"inFlight":4/);
        expect(stdout).not.toContain('scene-submitted');
        const last = stdout.trim().split('\n').at(-1) ?? '';
        expect(JSON.parse(last)).toMatchObject({ counts: { saved: 4, waiting: 5, active: 0, withdrawn: 0 } });
        const next = await night.run('--json').exits(0);
        expect(next.stdout.match(/"scene-submitted"/g)).toHaveLength(5);
      },
    );
  },
);

/** Starts a run within this process that has opened the named pipe of its manifest. */
async function startReading(
  night: Night,
  ...options: string[]
): Promise<{ run: Promise<Finished>; pipe: FileHandle }> {
  execFileSync('mkfifo', [night.path('list.csv')]);
  const args = ['run', 'pipeline.yaml', '--manifest', 'list.csv', ...options];
  const run = night.start(...args);
  return { run, pipe: await open(night.path('list.csv'), 'w') };
}
