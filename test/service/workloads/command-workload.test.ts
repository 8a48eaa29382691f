/** Promise: a program in any language works as a worker, and its errors affect only itself and its job. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandWorkload } from '../../../src/service/workloads/command-workload.ts';
import {
  defaultAnswerLimits,
  JsonText,
  WorkerDied,
} from '../../../src/service/workloads/workload-definition.ts';
import { firstTier, isWhole } from '../../fakes/tier.ts';
import {
  answering,
  holdTimers,
  isRunning,
  makeFolder,
  passTimeUntil,
  start,
  startScript,
} from './started-worker.ts';

const endless = 'setInterval(() => undefined, 1000);';

firstTier.describe('a program that keeps to the protocol', () => {
  it('answers one job after another in one process', async () => {
    const worker = await startScript(answering('say({ output: { pid: process.pid, got: job } })'));
    const first = (await worker.job({ scene: 'a cube' }, 'a').output) as { pid: number };
    const second = await worker.job({ scene: 'Ä\u2028 "🎨"' }, 'b').output;
    expect(first).toEqual({ pid: first.pid, got: { id: 'a', input: { scene: 'a cube' } } });
    expect(second).toEqual({ pid: first.pid, got: { id: 'b', input: { scene: 'Ä\u2028 "🎨"' } } });
  });

  it('reads and writes integers of any length, however the submission was laid out', async () => {
    const worker = await startScript(`
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const seed = /"seed" *: *(\\d+)/.exec(line)[1];
        process.stdout.write('{"progress":' + seed + '}\\n{"stream":' + seed + '}\\n{"output":[' + seed + ']}\\n');
      });`);
    const inputText = '{\n  "seed" : 12345678901234567890\r\n}';
    const told: unknown[] = [];
    const emit = async (message: unknown): Promise<void> => void told.push(message);
    const report = { signal: new AbortController().signal, progress: emit, stream: emit };
    told.push(await worker.run({ id: 'a', inputText, s3Config: null }, report));
    expect(told).toEqual(
      ['12345678901234567890', '12345678901234567890', '[12345678901234567890]'].map(
        (text) => new JsonText(text),
      ),
    );
  });

  it('reports its progress and partial outputs before it ends', async () => {
    const worker = await startScript(
      answering(
        'say({ progress: 1 }); say({ stream: "a" }); say({ stream: { b: 2 } }); say({ output: [3] })',
      ),
    );
    const job = worker.job({});
    expect(await job.output).toEqual([3]);
    expect(job.progress).toEqual([1]);
    expect(job.stream).toEqual(['a', { b: 2 }]);
  });

  it('fails its job with the text or the object that it gives', async () => {
    const worker = await startScript(answering('say({ error: job.input.error })'));
    await expect(worker.job({ error: 'no such scene' }).output).rejects.toThrow(/^no such scene$/);
    const failed = worker.job({ error: { error_type: 'X' } }).output;
    await expect(failed).rejects.toThrow(/^\{"error_type":"X"\}$/);
    await expect(failed).rejects.not.toBeInstanceOf(WorkerDied);
  });

  it('may say that there is no error', async () => {
    const worker = await startScript(answering('say({ output: [1], error: null })'));
    expect(await worker.job({}).output).toEqual([1]);
  });

  it('may leave out the last line break', async () => {
    const worker = await startScript(answering(`write('{"output":1}'); process.stdin.destroy()`));
    expect(await worker.job({}).output).toBe(1);
    expect(await worker.ended).toBe("the worker's process exited with code 0");
  });

  it('runs in its folder, by a name on the PATH', async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, 'worker.sh'), `read line; echo "{\\"output\\":\\"$PWD\\"}"\n`);
    const worker = await start(
      commandWorkload({ endpointId: 'e', command: ['sh', 'worker.sh'], cwd: folder, environment: {} }),
    );
    expect(await worker.job({}).output).toBe(folder);
  });
});

firstTier.describe('its environment', () => {
  it('has only the settings of the endpoint and the identity of the worker, without a key of the service', async () => {
    process.env['NIGHTRENDER_API_KEY'] = 'secret-of-the-service';
    const worker = await startScript(answering('say({ output: process.env })'), {
      environment: { MODEL: 'xl', LANG: 'C.UTF-8' },
    });
    const seen = (await worker.job({}).output) as Record<string, string>;
    delete process.env['NIGHTRENDER_API_KEY'];
    expect(seen).toMatchObject({
      MODEL: 'xl',
      LANG: 'C.UTF-8',
      PATH: process.env['PATH'],
      RUNPOD_ENDPOINT_ID: 'endpoint-1',
      RUNPOD_POD_ID: 'worker-1',
    });
    const known = new Set([
      'NIGHTRENDER_WORKER',
      'PATH',
      'HOME',
      'USER',
      'LANG',
      'LC_ALL',
      'TZ',
      'TMPDIR',
      'MODEL',
    ]);
    expect(Object.keys(seen).filter((name) => !known.has(name) && !name.startsWith('RUNPOD_'))).toEqual([]);
  });
});

firstTier.describe('its log', () => {
  it('contains its standard error, and lines of output that are not messages', async () => {
    const worker = await startScript(
      answering(
        `write('loading\\n[1]\\n{"level":"info"}\\n{not json\\n'); say({ log: 'two\\nlines' }); say({ output: 1 })`,
      ),
    );
    await worker.job({}).output;
    expect(worker.log).toEqual(['loading', '[1]', '{"level":"info"}', '{not json', 'two', 'lines']);
  });

  it('has lines of standard error whole, whatever bytes they come in, and the last one without its line break', async () => {
    const worker = await startScript(`
      const bytes = [...Buffer.from('grün 🎨\\r\\n'), 0xff, 0x0a, ...Buffer.from('\\x1b[31mred\\x1b[0m\\x07'), 0xc3];
      const next = () => bytes.length > 0 && process.stderr.write(Buffer.of(bytes.shift()), next);
      next();`);
    await worker.ended;
    expect(worker.log).toEqual(['grün 🎨', '\ufffd', 'red\ufffd']);
  });

  it('is cut in the length of its lines, and never holds one without end', async () => {
    const worker = await startScript(`
      const part = Buffer.alloc(1 << 20, 'é');
      let count = 0;
      const next = () => (count++ < 50 ? process.stderr.write(part, next) : process.stderr.write('\\nend\\n'));
      next();`);
    await worker.ended;
    expect(worker.log).toEqual([`${'é'.repeat(2_048)}…`, 'end']);
  });

  it('leaves out lines if there are too many, and says how many', async () => {
    const worker = await startScript(
      `for (let i = 1; i <= 20000; i++) require('fs').writeSync(2, 'line ' + i + '\\n');`,
    );
    await worker.ended;
    const lines = worker.log.filter((line) => line.startsWith('line '));
    const leftOut = worker.log.flatMap((line) => /^\((\d+) lines omitted/.exec(line)?.[1] ?? []);
    expect(lines.length).toBeGreaterThanOrEqual(1_000);
    expect(lines.length).toBeLessThan(10_000);
    expect(lines.length + leftOut.reduce((sum, count) => sum + Number(count), 0)).toBe(20_000);
  });
});

firstTier.describe('a program that cannot be started', () => {
  const options = { endpointId: 'e', cwd: null, environment: {} };

  it.each([
    ['is not there', { command: ['no-such-program-7'] }, 'there is no program no-such-program-7'],
    ['is not named', { command: [] }, 'no program is named'],
    ['has no folder', { command: ['sh'], cwd: '/no/such/folder' }, 'there is no folder /no/such/folder'],
    [
      'may not be executed',
      { command: [import.meta.filename] },
      'command-workload.test.ts may not be executed',
    ],
    ['has an impossible name', { command: ['a\0b'] }, 'null bytes'],
  ])('is refused with a message if it %s', async (_, given, text) => {
    await expect(start(commandWorkload({ ...options, ...given }))).rejects.toThrow(text);
  });
});

firstTier.describe('a program that ends', () => {
  it.each([
    ['exits', 'process.exit(3)', "the worker's process exited with code 3"],
    ['exits as if all were well', 'process.exit(0)', "the worker's process exited with code 0"],
    ['crashes', `process.kill(process.pid, 'SIGSEGV')`, "the worker's process was killed by SIGSEGV"],
    [
      'dies in the middle of a line',
      `require('fs').writeSync(1, '{"output": [1'); process.exit(1)`,
      "the worker's process exited with code 1",
    ],
  ])('gives its job back if it %s', async (_, statements, reason) => {
    const worker = await startScript(answering(statements));
    const { output } = worker.job({});
    await expect(output).rejects.toBeInstanceOf(WorkerDied);
    await expect(output).rejects.toThrow(reason);
    expect(await worker.ended).toBe(reason);
    await expect(worker.job({}).output).rejects.toBeInstanceOf(WorkerDied);
  });

  it('keeps the answer that it gave before', async () => {
    const worker = await startScript(
      answering(`require('fs').writeSync(1, '{"output":1}\\n'); process.exit(1)`),
    );
    expect(await worker.job({}).output).toBe(1);
  });

  it('gives its job back if it reads no jobs any more', async () => {
    const worker = await startScript(`require('fs').closeSync(0); console.error('closed'); ${endless}`);
    await expect.poll(() => worker.log).toEqual(['closed']);
    holdTimers();
    const { output } = worker.job({ text: 'x'.repeat(1 << 20) });
    await passTimeUntil(worker.ended);
    await expect(output).rejects.toBeInstanceOf(WorkerDied);
    expect(await worker.ended).toContain('closed its input');
  });

  it('gives its job back if it can answer no more', async () => {
    holdTimers();
    const worker = await startScript(`require('fs').closeSync(1); ${endless}`);
    const { output } = worker.job({});
    await passTimeUntil(worker.ended);
    await expect(output).rejects.toBeInstanceOf(WorkerDied);
    expect(await worker.ended).toContain('closed its output');
  });

  it('takes its children with it', async () => {
    const worker = await startScript(
      answering(`
        const child = require('node:child_process').spawn('sleep', ['1000'], { stdio: 'inherit' });
        console.error(child.pid);
        child.on('spawn', () => process.exit(1))`),
    );
    await expect(worker.job({}).output).rejects.toBeInstanceOf(WorkerDied);
    // The process disappears before the kernel reports it as ended.
    await expect.poll(() => isRunning(Number(worker.log[0]))).toBe(false);
  });

  it('is not waited for if a child that left its group holds its output open', async () => {
    const worker = await startScript(
      answering(`
        const child = require('node:child_process').spawn('sleep', ['1000'], { stdio: 'inherit', detached: true });
        console.error(child.pid);
        child.on('spawn', () => process.exit(1))`),
    );
    await expect(worker.job({}).output).rejects.toBeInstanceOf(WorkerDied);
    process.kill(Number(worker.log[0]), 'SIGKILL');
  });
});

firstTier.describe('a program that does not end', () => {
  it.each([
    ['computes for ever', 'for (;;) {}'],
    ['waits for ever', ''],
  ])('is ended, with its children, when its job is called off and it %s', async (_, statements) => {
    const worker = await startScript(
      answering(`
        const { spawn } = require('node:child_process');
        const child = spawn('sleep', ['1000']);
        const daemon = spawn('sleep', ['1000'], { detached: true });
        require('fs').writeSync(2, [process.pid, child.pid, daemon.pid, ''].join('\\n'));
        ${statements}`),
    );
    const job = worker.job({});
    await expect.poll(() => worker.log.length).toBe(3);
    job.callOff();
    await expect(job.output).rejects.toThrow('cancelled');
    expect(await worker.ended).toContain('cancelled');
    await expect.poll(() => worker.log.map(Number).filter(isRunning)).toEqual([]);
  });

  it('gives no answer any more once its job is called off, so that it gets no other job before it has ended', async () => {
    const worker = await startScript(
      `process.once('SIGTERM', () => { say({ output: 1 }); process.stdout.write('', () => process.exit()) });` +
        answering(`console.error('at it'); setInterval(() => undefined, 1000)`),
    );
    const job = worker.job({});
    await expect.poll(() => worker.log).toEqual(['at it']);
    job.callOff();
    await expect(job.output).rejects.toBeInstanceOf(WorkerDied);
    expect(await worker.ended).toContain('cancelled');
  });

  it('is ended by force if it does not heed SIGTERM', async () => {
    const worker = await startScript(
      `process.on('SIGTERM', () => console.error('no')); console.error(process.pid); ${endless}`,
    );
    await expect.poll(() => worker.log.length).toBe(1);
    holdTimers();
    const stopped = worker.stop();
    await expect.poll(() => worker.log[1]).toBe('no');
    await passTimeUntil(stopped);
    // The process disappears before the kernel reports it as ended.
    await expect.poll(() => isRunning(Number(worker.log[0]))).toBe(false);
    expect(await worker.ended).toBe('the worker was stopped');
  });

  it('takes no job that was called off before', async () => {
    const worker = await startScript(answering('say({ output: 1 })'));
    const signal = AbortSignal.abort();
    const report = { signal, progress: () => Promise.resolve(), stream: () => Promise.resolve() };
    await expect(worker.run({ id: 'a', inputText: '{}', s3Config: null }, report)).rejects.toThrow(
      'cancelled',
    );
    expect(await worker.job({}).output).toBe(1);
  });
});

firstTier.describe('a program that answers unexpectedly', () => {
  it('is ignored if it names another job', async () => {
    const worker = await startScript(
      answering(
        `say({ id: 'old', output: 'old' }); say({ id: 'old', progress: 0 }); say({ id: job.id, output: 'new' })`,
      ),
    );
    const job = worker.job({}, 'new-job');
    expect(await job.output).toBe('new');
    expect(job.progress).toEqual([]);
    expect(worker.log[0]).toContain('for job old dropped');
  });

  it('is ignored if it names the job that it has answered', async () => {
    const worker = await startScript(
      answering(`say({ id: job.id, output: job.id }); say({ id: job.id, output: 'again' })`),
    );
    expect(await worker.job({}, 'a').output).toBe('a');
    expect(await worker.job({}, 'b').output).toBe('b');
  });

  it('is ended if it answers twice and does not say to which job', async () => {
    const worker = await startScript(answering(`write('{"output":1}\\n{"output":2}\\n')`));
    expect(await worker.job({}).output).toBe(1);
    expect(await worker.ended).toContain('answered without having a job');
  });

  it('is not ended if it reports its progress late', async () => {
    const worker = await startScript(
      answering(`say({ output: 1 }); say({ progress: 1 }); say({ stream: 1 })`),
    );
    expect(await worker.job({}).output).toBe(1);
    expect(await worker.job({}).output).toBe(1);
  });
});

describe('a program that takes too much', () => {
  it('has its job failed, not given back, if its line is longer than an output may be', async () => {
    // The longer tier uses the default.
    const most = isWhole ? 104_857_600 : 2_097_152;
    const worker = await startScript(
      answering(`write('{"output":"' + 'x'.repeat(${most}) + '"}\\n')`),
      isWhole ? {} : { limits: { ...defaultAnswerLimits, maxBytes: most } },
    );
    let hasEnded = false;
    void worker.ended.then(() => (hasEnded = true));
    const { output } = worker.job({});
    await expect(output).rejects.toThrow(`a line of more than ${most} bytes`);
    // If the worker had not ended by now, it would be given another job.
    expect(hasEnded).toBe(true);
    await expect(output).rejects.not.toBeInstanceOf(WorkerDied);
    expect(await worker.ended).toContain(`a line of more than ${most} bytes`);
  });

  it('has a deeply nested output passed on unchanged, or its job failed', async () => {
    // Deep enough to exhaust the stack of any recursive function.
    const depth = isWhole ? 200_000 : 50_000;
    const worker = await startScript(
      answering(`
        const deep = '['.repeat(${depth}) + ']'.repeat(${depth});
        write('{"progress":' + deep + '}\\n{"stream":' + deep + '}\\n');
        write(job.input.fails ? '{"error":' + deep + '}\\n' : '{"output":1}\\n')`),
    );
    const job = worker.job({});
    expect(await job.output).toBe(1);
    expect([job.progress.length, job.stream.length]).toEqual([1, 1]);
    await expect(worker.job({ fails: true }).output).rejects.toThrow('[');
  });

  firstTier.it('is ended if its line never ends', async () => {
    const worker = await startScript(
      `const part = 'x'.repeat(1 << 20); const next = () => process.stdout.write(part, next); next();`,
      { limits: { ...defaultAnswerLimits, maxBytes: 8 << 20 } },
    );
    await expect(worker.job({}).output).rejects.toThrow('a line of more than 8388608 bytes');
    expect(await worker.ended).toContain('a line of more than 8388608 bytes');
  });

  firstTier.it.skipIf(process.platform !== 'linux')(
    'is killed if it and its children have more memory than they may (skipped if there is no /proc)',
    async () => {
      holdTimers();
      const child = `const kept = Buffer.alloc(200 << 20, 1); setInterval(() => kept.length, 1000)`;
      const worker = await startScript(
        answering(`require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}])`),
        { memoryBytes: 180 * 2 ** 20 },
      );
      const { output } = worker.job({});
      await passTimeUntil(worker.ended);
      await expect(output).rejects.toBeInstanceOf(WorkerDied);
      expect(await worker.ended).toBe("the worker's process exceeded its 180 MiB of memory and was killed");
    },
  );
});
