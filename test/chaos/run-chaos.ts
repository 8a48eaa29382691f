/** Kills the built program again and again against the hostile service, lets it finish, and hears the oracle. */
import { join } from 'node:path';
import type { Account } from './account.ts';
import { Batch } from './batch.ts';
import { chance } from './chance.ts';
import { judge } from './judge.ts';
import { readDeclared, type Declared } from './read-checkpoint.ts';
import { Runner, type RunnerEnd, type Stretch } from './runner.ts';
import { startHostileService, type HostileService } from './service-process.ts';
import { Sightings } from './sightings.ts';
import { drawStrike, endWithin, strike } from './strike.ts';

export interface ChaosSettings {
  kills: number;
  scenes: number;
  seed: number;
  /** A folder of its own, for the batch. */
  dir: string;
}

export interface ChaosResult {
  /** What is wrong, a sentence each. */
  complaints: string[];
  /** Runs that the strikes met before they had ended by themselves. */
  metAtWork: number;
  /** Runs after the last strike, until one had nothing more to do. */
  lastRuns: number;
  edits: number;
  agings: number;
  account: Account;
  declared: Declared;
}

/** Submissions, looks and jobs are drawn apart, which comes to 15 % of the answers. */
const faultShare = 0.125;
const retentionMs = 8_000;

export async function runChaos(settings: ChaosSettings): Promise<ChaosResult> {
  const service = await startHostileService({ seed: settings.seed, faultShare, retentionMs });
  const log: Log = { complaints: [], up: [], metAtWork: 0, lastRuns: 0, edits: 0, agings: 0 };
  try {
    const batch = new Batch(settings.dir, service.url, settings.scenes);
    const images = new Sightings(join(batch.dir, 'out/images'));
    for (let kill = 1; kill <= settings.kills; kill++) {
      await killOnce(kill, settings, batch, service, log);
      images.look();
    }
    batch.restore();
    await finish(batch, log);
    const account = await service.account();
    const declared = readDeclared(join(batch.dir, 'out'));
    const { up, complaints, ...counts } = log;
    const wanted = batch.scenes;
    const found = judge({ wanted, declared, account, up, sightings: images.all, retentionMs });
    return { ...counts, complaints: [...complaints, ...found], account, declared };
  } finally {
    await service.stop();
  }
}

interface Log {
  complaints: string[];
  up: Stretch[];
  metAtWork: number;
  lastRuns: number;
  edits: number;
  agings: number;
}

/** Between two runs the list may be edited, and a long time may pass. */
async function killOnce(
  kill: number,
  { seed, kills }: ChaosSettings,
  batch: Batch,
  service: HostileService,
  log: Log,
): Promise<void> {
  const random = chance(seed, 'kill', kill);
  if (random.hits(0.2)) {
    batch.edit(random);
    log.edits += 1;
  }
  if (random.hits(0.04) || kill === kills >> 1) {
    await service.age();
    log.agings += 1;
  }
  const end = await strike(new Runner(batch.dir), drawStrike(random));
  record(`kill ${kill}`, end, log);
  if (!end.hasFinished || (end.code ?? 0) >= 128) log.metAtWork += 1;
}

/** A run that halts is started again, as a person would; more than a few times is a complaint. */
async function finish(batch: Batch, log: Log): Promise<void> {
  const resumable = 10;
  for (let run = 1; run <= mostLastRuns; run++) {
    log.lastRuns = run;
    const end = await endWithin(new Runner(batch.dir), longestRunMs);
    record(`last run ${run}`, end, log);
    if (end.code === 0 || end.code === 3) return;
    if (end.code !== resumable) break;
  }
  log.complaints.push(`the last run did not come to an end of the batch`);
}

const mostLastRuns = 10;
const longestRunMs = 300_000;
/** All saved, some failed, halted, and left on SIGINT or SIGTERM; null is a death by what it was sent. */
const orderlyCodes: ReadonlySet<number | null> = new Set([0, 3, 10, 130, 143, null]);

function record(when: string, end: RunnerEnd & { isOverdue: boolean }, log: Log): void {
  log.up.push(...end.up);
  if (end.isOverdue) log.complaints.push(`${when}: the program did not end when it should have`);
  if (end.isOwnEnd && orderlyCodes.has(end.code)) return;
  const how = end.code ?? 'a crash';
  log.complaints.push(`${when}: the program ended with ${how}: ${end.stderr.trim().slice(-500)}`);
}
