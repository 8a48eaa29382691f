/**
 * Promise: whichever disk call fails, and however, the program ends in an orderly way with a true message,
 * and nothing is paid twice.
 */
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { expect, it } from 'vitest';
import { random, rest, runs, seed } from '../fakes/tier.ts';
import { makeBegunBatch, type BegunBatches } from './begun-batch.ts';
import { type Finished, inProcess, linesOf } from './cli.ts';
import {
  canFail,
  diskCalls,
  diskErrors,
  onFailingDisk,
  type DiskCall,
  type DiskFault,
  type Faulted,
} from './failing-disk.ts';

const commands = [
  ['new', 'run'],
  ['begun', 'run'],
  ['begun', 'retry', '--id', 's0', '--again'],
  ['begun', 'cancel'],
  ['begun', 'verify'],
  ['begun', 'verify', '--repair'],
  ['begun', 'report'],
] as const;

type Command = (typeof commands)[number];

/** Later calls only repeat earlier kinds. */
const maxNth = 60;

/** Every way in which a call can fail. */
const ways = diskErrors.flatMap((error) => [false, true].map((isLasting) => ({ error, isLasting })));

rest.it.skipIf(!canFail)(
  'a run ends in an orderly way, whichever disk call fails (skipped if there is no Linux or no C compiler)',
  async () => {
    const batches = await makeBegunBatch();
    const calls: Call[] = [];
    const paid = new Map<Command, number>();
    for (const command of commands) {
      calls.push(...(await callsOf(batches, command)));
      paid.set(command, await paidWithout(batches, command));
    }
    const chosen = [...known, ...choose(calls, runs(5_000, { ms: 400 }))];
    process.stdout.write(
      `disk faults: ${chosen.length} of ${calls.length * ways.length} cases (seed ${seed})\n`,
    );
    const atOnce = pLimit(availableParallelism() + 1);
    const found = await Promise.all(
      chosen.map((each, i) => atOnce(() => wrongIn(batches, each, `case-${i}`, paid.get(each[0]) ?? 0))),
    );
    const wrong = found.flat();
    expect(wrong.slice(0, 20).join('\n\n'), `${wrong.length} of ${chosen.length}`).toBe('');
  },
  3_600_000,
);

it.skipIf(!canFail)(
  'a picture that the disk cannot read is not put back, nor paid for again (skipped if there is no Linux or no C compiler)',
  async () => {
    const batches = await makeBegunBatch();
    const cwd = batches.copy('begun');
    const env = { NIGHTRENDER_API_KEY: 'unread' };
    const fault = { call: 'read', nth: 1, error: 'EIO', isLasting: true } as const;
    const args = ['verify', 'pipeline.yaml', '--repair'];
    const { code, stderr } = await onFailingDisk(args, join(cwd, 'out/images'), fault, { cwd, env });
    expect(code, stderr).toBe(14);
    expect(stderr).toMatch(/cannot read .*\.png \(EIO\), so it was not verified/);
    await inProcess(args, { cwd, env }).exits(0);
    await inProcess(['run', 'pipeline.yaml'], { cwd, env }).exits(3);
    expect(batches.submissions('unread')).toBe(0);
  },
);

/** Faults that ended badly in the past. They are always tried, even if the calls have changed since. */
const known: [Command, DiskFault][] = [
  // The files are: name of the lock holder, mark, journal of the new checkpoint, its log, and crash markers.
  [commands[0], { call: 'write', nth: 2, error: 'EDQUOT', isLasting: false }],
  [commands[0], { call: 'open', nth: 6, error: 'ESTALE', isLasting: true }],
  [commands[0], { call: 'unlink', nth: 1, error: 'EDQUOT', isLasting: false }],
  [commands[0], { call: 'read', nth: 22, error: 'EIO', isLasting: true }],
  [commands[3], { call: 'ftruncate', nth: 1, error: 'EIO', isLasting: false }],
];

interface Call {
  command: Command;
  call: DiskCall;
  nth: number;
}

/** Returns the calls that the command makes on a working disk. */
async function callsOf(batches: BegunBatches, command: Command): Promise<Call[]> {
  const { calls, code, stderr } = await onDisk(batches, command, undefined, 'counted');
  if (code === null || ![0, 3].includes(code)) throw new Error(`${command.join(' ')}: ${code} ${stderr}`);
  return diskCalls.flatMap((call) =>
    Array.from({ length: Math.min(maxNth, calls[call]) }, (_, i) => ({ command, call, nth: i + 1 })),
  );
}

/** Chooses faults at random: each call once before any call is repeated with another kind of fault. */
function choose(calls: Call[], count: number): [Command, DiskFault][] {
  const left = [...calls];
  const shuffled = calls.flatMap(() => left.splice(random(left.length), 1));
  const rounds = Array.from({ length: Math.ceil(count / calls.length) }, (_, round) =>
    shuffled.map(({ command, ...call }, i): [Command, DiskFault] => {
      const way = ways[(i + round) % ways.length] ?? { error: 'EIO', isLasting: false };
      return [command, { ...call, ...way }];
    }),
  );
  return rounds.flat().slice(0, count);
}

/** Returns a sentence for each thing that is wrong. */
async function wrongIn(
  batches: BegunBatches,
  [command, fault]: [Command, DiskFault],
  key: string,
  paid: number,
): Promise<string[]> {
  const cwd = batches.copy(command[0]);
  const faulted = await onDisk(batches, command, fault, key, cwd);
  const { code, stdout, stderr, isHanging } = faulted;
  const sent = batches.posts(key);
  const problems: string[] = [];
  if (isHanging) problems.push('hangs');
  else if (code === 2 && sent === 0 && stderr.includes('or its disk could not read it')) return [];
  else if (code === null || ![0, 3, 14].includes(code)) problems.push(`exit ${code}, ${sent} sent`);
  if (/^ +at |This is a bug|A bug of/m.test(stdout + stderr)) problems.push('a stack trace, or "a bug"');
  if (sent > 0 && /nothing (was|is) sent/i.test(stdout + stderr))
    problems.push(`"nothing was sent", but ${sent} were`);
  if (!isHanging && code !== null) problems.push(...(await wrongAfter(batches, cwd, key, paid)));
  rmSync(cwd, { recursive: true, force: true });
  return problems.map((problem) => describe(command, fault, faulted, problem));
}

/** Commands within this process run one after another. */
const inTurn = pLimit(1);

/**
 * Runs the batch on a working disk. Returns a sentence if that fails, or if there are more submissions than
 * without the fault and the additional ones are not recorded as unanswered.
 */
async function wrongAfter(batches: BegunBatches, cwd: string, key: string, paid: number): Promise<string[]> {
  const env = { NIGHTRENDER_API_KEY: key };
  const command = (name: string): Promise<Finished> =>
    inTurn(() => inProcess([name, 'pipeline.yaml', '--json'], { cwd, env }));
  const again = await command('run');
  if (again.code === null || ![0, 3].includes(again.code))
    return [`the next run: ${again.code} ${again.stdout.slice(-600)} ${again.stderr}`];
  const [told] = linesOf<{ summary: { attempts: { unanswered: number } } }>(await command('status'));
  const declared = told?.summary.attempts.unanswered ?? 0;
  const sent = batches.submissions(key);
  return sent > paid + declared ? [`${sent} submissions instead of ${paid}, ${declared} unanswered`] : [];
}

/** Returns the number of submissions by the command and a run after it, without a fault. */
async function paidWithout(batches: BegunBatches, command: Command): Promise<number> {
  const key = `paid-${command.join('-')}`;
  const cwd = batches.copy(command[0]);
  await onDisk(batches, command, undefined, key, cwd);
  await inProcess(['run', 'pipeline.yaml'], { cwd, env: { NIGHTRENDER_API_KEY: key } });
  return batches.submissions(key);
}

function onDisk(
  batches: BegunBatches,
  [kind, name, ...options]: Command,
  fault: DiskFault | undefined,
  key: string,
  cwd = batches.copy(kind),
): Promise<Faulted> {
  const args = [name, 'pipeline.yaml', ...options];
  return onFailingDisk(args, join(cwd, 'out'), fault, { cwd, env: { NIGHTRENDER_API_KEY: key } });
}

function describe(
  command: Command,
  fault: DiskFault,
  { stdout, stderr, failedAt }: Faulted,
  problem: string,
): string {
  const { call, nth, error, isLasting } = fault;
  const how = `${call} ${nth}${isLasting ? ' and all after it' : ''}: ${error} at ${failedAt ?? '(not reached)'}`;
  return `${command.join(' ')} | ${how} | ${problem}\n${stdout.slice(-500)}${stderr.slice(0, 900)}`;
}
