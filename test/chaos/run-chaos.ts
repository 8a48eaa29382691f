/** Kills the built program again and again while it uses the hostile service, lets it finish, and checks the result. */
import { join } from 'node:path';
import { noBooks, type Books } from '../account/books.ts';
import { readFolder } from '../account/read-folder.ts';
import { Batch } from './batch.ts';
import { chance, type Chance } from '../faults/chance.ts';
import { closedDoors } from './closed-doors.ts';
import { lastRuns } from './last-runs.ts';
import { differences } from './chaos-rules.ts';
import { Runner, type RunnerEnd, type Stretch } from './runner.ts';
import { startHostileService, type HostileService } from './service-process.ts';
import type { ServiceReport } from './service-report.ts';
import { Sightings } from './sightings.ts';
import { drawStrike, strike } from './strike.ts';
import { turnAway } from './turn-away.ts';

export interface ChaosSettings {
  kills: number;
  scenes: number;
  seed: number;
  /** A separate folder for the batch. */
  dir: string;
}

export interface ChaosResult {
  /** Sentences that say what is wrong. */
  complaints: string[];
  counts: Counts;
  service: ServiceReport;
  books: Books;
}

interface Counts {
  kills: number;
  /** Number of kills that came before the run had ended by itself. */
  metAtWork: number;
  /** Number of runs whose key, account or endpoint was rejected for all of their time. */
  turnedAway: number;
  edits: number;
  agings: number;
  /** Number of times that the service refused connections for a while. */
  outages: number;
}

/** Share of faults among submissions, polls and jobs. Together they make 15 % of the answers faulty. */
const faultShare = 0.117;
const retentionMs = 8_000;

export async function runChaos(settings: ChaosSettings): Promise<ChaosResult> {
  const { seed, kills, scenes, dir } = settings;
  const service = await startHostileService({ seed, faultShare, retentionMs });
  const counts = { kills, metAtWork: 0, turnedAway: 0, edits: 0, agings: 0, outages: 0 };
  const log: Log = { complaints: [], up: [], counts };
  try {
    const batch = new Batch(dir, service.url, scenes);
    const images = new Sightings(join(dir, 'out/images'));
    for (let kill = 1; kill <= kills; kill++) {
      await killOnce(kill, settings, batch, service, log);
      images.look();
    }
    batch.restore();
    const last = await lastRuns(batch, service);
    for (const [when, end] of last.ends) record(when, end, log);
    const report = await service.report();
    const out = join(dir, 'out');
    const folder = readFolder(out, 'id');
    const evidence = { wanted: batch.scenes, out, folder, service: report, up: log.up, retentionMs };
    const found = differences({ ...evidence, sightings: images.all });
    const complaints = [...log.complaints, ...last.complaints, ...found];
    return { complaints, counts, service: report, books: folder.books ?? noBooks };
  } finally {
    await service.stop();
  }
}

interface Log {
  complaints: string[];
  up: Stretch[];
  counts: Counts;
}

async function killOnce(
  kill: number,
  settings: ChaosSettings,
  batch: Batch,
  service: HostileService,
  log: Log,
): Promise<void> {
  const random = chance(settings.seed, 'kill', kill);
  await prepare(kill, settings, random, batch, service, log);
  const end = await strike(new Runner(batch.dir), drawStrike(random));
  record(`kill ${kill}`, end, log);
  if (!end.hasFinished || (end.code ?? 0) >= 128) log.counts.metAtWork += 1;
}

/**
 * Changes something between two runs, at random: the list is edited, results are deleted, a run is rejected by the
 * service, or the service refuses connections. Before the middle kill, all but the edit happen, even if there are few
 * kills.
 */
async function prepare(
  kill: number,
  { kills }: ChaosSettings,
  random: Chance,
  batch: Batch,
  service: HostileService,
  { complaints, counts }: Log,
): Promise<void> {
  const isHalfWay = kill === kills >> 1;
  if (random.hits(0.2)) {
    batch.edit(random);
    counts.edits += 1;
  }
  if (random.hits(0.04) || isHalfWay) {
    await service.age();
    counts.agings += 1;
  }
  if (random.hits(0.06) || isHalfWay) {
    const end = await turnAway(random.pick(Object.keys(closedDoors)), batch, service);
    complaints.push(...end.complaints.map((text) => `before kill ${kill}: ${text}`));
    record(`before kill ${kill}`, end, { complaints, up: [], counts });
    counts.turnedAway += 1;
  }
  if (random.hits(0.06) || isHalfWay) {
    await service.refuse(random.between(300, 2_500));
    counts.outages += 1;
  }
}

/**
 * Exit codes of an orderly end: all saved, some failed, rejected by the service, SIGINT or SIGTERM. Null means that a
 * signal killed the program.
 */
const orderlyCodes: ReadonlySet<number | null> = new Set([0, 3, 12, 130, 143, null]);

function record(when: string, end: RunnerEnd & { isOverdue: boolean }, log: Log): void {
  log.up.push(...end.up);
  if (end.isOverdue) log.complaints.push(`${when}: the program did not end when it should have`);
  if (end.isOwnEnd && orderlyCodes.has(end.code)) return;
  const how = end.code ?? 'a crash';
  log.complaints.push(
    `${when}: the program ended with ${how}: ${(end.stderr.trim() || end.stdout).slice(-500)}`,
  );
}
