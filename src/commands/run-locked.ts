/** A run on a batch whose lock is held: puts the road and its edges together. */
import { join } from 'node:path';
import { openCheckpoint, readEndpointsInFlight, type OpenCheckpoint } from '../checkpoint/open-checkpoint.ts';
import { HttpRenderService } from '../client/http-render-service.ts';
import { HttpsDownloads } from '../client/https-downloads.ts';
import type { Config } from '../config/config.ts';
import type { Endpoint } from '../core/attempt.ts';
import { endings, type Ending } from '../core/ending.ts';
import { Trouble } from '../core/failure.ts';
import { createImageStore } from '../images/image-store.ts';
import { runBatch, type BatchResult } from '../pipeline/run-batch.ts';
import type { Ports } from '../pipeline/run.ts';
import { Stop } from '../pipeline/stop.ts';
import { createRunView } from '../terminal/run-view.ts';
import type { RunView } from '../terminal/view.ts';
import { writeBatchReport } from './batch-report.ts';
import { batchSettings } from './batch-settings.ts';
import { assertCollectable, connect } from './connections.ts';
import type { ReadScenes } from './read-scenes.ts';
import { warningOfLostCheckpoint } from './lost-checkpoint.ts';
import { refusalOf } from './refusal.ts';
import { shownPath } from './shown-path.ts';
import { stopOnSignals } from './signals.ts';
import { systemClock } from './system-clock.ts';
import { program } from './version.ts';

/** Resolves to the exit code. */
export async function runLocked(config: Config, scenes: ReadScenes): Promise<number> {
  const { dir } = config.output;
  const view = createRunView({
    ...config.terminal,
    shownDir: shownPath(dir),
    now: Date.now,
    elapsed: () => systemClock.elapsed(),
  });
  const batch = {
    manifest: config.manifest.map(shownPath),
    endpoint: config.endpoint,
    columns: scenes.columns,
    ...(config.pricing !== undefined && { pricing: config.pricing }),
  };
  const inFlight = readEndpointsInFlight(dir);
  assertCollectable(config, inFlight);
  const lost = warningOfLostCheckpoint(dir);
  const opened = openCheckpoint(dir, program, batch, Date.now());
  try {
    tellStart(config, view);
    if (lost !== undefined) view.tell({ type: 'warning', text: lost });
    const result = await runConnected(config, scenes, opened, inFlight, view);
    tellEnd(config, result, view);
    // With the report the end went on record; without one it is another than the report was given.
    if (result.report === undefined) recordEnd(opened, result.ending);
    return endings[result.ending.kind].exitCode;
  } catch (thrown) {
    recordEnd(opened, { kind: refusalOf(thrown, dir)?.ending ?? 'bug', text: (thrown as Error).message });
    throw thrown;
  } finally {
    view.close();
    opened.close();
  }
}

/** Where the disk does not take even this, the run's own ending has said so. */
function recordEnd(opened: OpenCheckpoint, { kind, text }: Ending): void {
  try {
    opened.recordEnd({ at: Date.now(), exitCode: endings[kind].exitCode, ending: text });
  } catch (error) {
    if (refusalOf(error, undefined)?.ending !== 'output-unwritable') throw error;
  }
}

async function runConnected(
  config: Config,
  scenes: ReadScenes,
  opened: OpenCheckpoint,
  inFlight: Endpoint[],
  view: RunView,
): Promise<BatchResult> {
  const connections = await connect(config, inFlight, (text) => view.tell({ type: 'warning', text }));
  const service = new HttpRenderService({
    connectionOf: connections.of,
    requestTimeoutMs: config.timeouts.requestMs,
    maxBodyBytes: config.limits.bodyBytes,
    imagePath: config.output.imagePath,
  });
  const downloads = new HttpsDownloads({
    hosts: config.output.hosts,
    maxBytes: config.limits.bodyBytes,
    requestTimeoutMs: config.timeouts.requestMs,
  });
  try {
    const ports = { ...(await assemblePorts(config, opened, view)), service, downloads };
    return await runUntilStopped(config, scenes, ports);
  } finally {
    await service.close();
    await downloads.close();
    await connections.close();
  }
}

async function assemblePorts(
  config: Config,
  opened: OpenCheckpoint,
  view: RunView,
): Promise<Omit<Ports, 'service' | 'downloads'>> {
  const { dir } = config.output;
  const images = createImageStore(join(dir, 'images'), { maxPixels: config.limits.pixels, ...config.check });
  await images.prepare();
  const report = {
    write: async (ending: Ending) => {
      recordEnd(opened, ending);
      const files = await writeBatchReport(dir, Date.now());
      if (files === undefined) throw new Trouble({ kind: 'output-unwritable', text: checkpointGone });
      return join(dir, 'report');
    },
  };
  const { checkpoint } = opened;
  return { checkpoint, images, report, clock: systemClock, random: Math.random, tell: view.tell };
}

async function runUntilStopped(config: Config, scenes: ReadScenes, ports: Ports): Promise<BatchResult> {
  const stop = new Stop(({ kind, text }) => ports.tell({ type: 'stopping', ending: kind, text }));
  const stopListening = stopOnSignals(stop);
  try {
    return await runBatch(scenes.stage, ports, batchSettings(config, systemClock.now()), stop);
  } finally {
    stopListening();
  }
}

const checkpointGone =
  'the checkpoint was removed during the run: what it knew of jobs in flight is lost; see what removes files from the output folder';

function tellStart(config: Config, view: RunView): void {
  const { baseUrl, id } = config.endpoint;
  view.tell({
    type: 'run-started',
    program,
    manifest: config.manifest.map(shownPath),
    endpoint: `${baseUrl} ${id}`,
    outputDir: config.output.dir,
    concurrency: config.concurrency,
  });
  for (const text of config.warnings) view.tell({ type: 'warning', text });
}

function tellEnd(config: Config, { ending, counts, report }: BatchResult, view: RunView): void {
  const { kind, text } = ending;
  const { exitCode } = endings[kind];
  view.tell({
    type: 'run-ended',
    ending: kind,
    exitCode,
    text,
    counts,
    outputDir: config.output.dir,
    report,
  });
}
