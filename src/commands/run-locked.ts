/** A run on a batch whose lock is held: puts the road and its edges together. */
import { join } from 'node:path';
import { openCheckpoint, type OpenCheckpoint } from '../checkpoint/open-checkpoint.ts';
import { HttpRenderService } from '../client/http-render-service.ts';
import type { Config } from '../config/config.ts';
import { endings, type Ending } from '../core/ending.ts';
import { createImageStore } from '../images/image-store.ts';
import { runBatch, type BatchResult } from '../pipeline/run-batch.ts';
import type { Ports } from '../pipeline/run.ts';
import { Stop } from '../pipeline/stop.ts';
import { createRunView, type RunView } from '../terminal/run-view.ts';
import { writeBatchReport } from './batch-report.ts';
import { batchSettings } from './batch-settings.ts';
import { connect } from './connections.ts';
import type { ReadScenes } from './read-scenes.ts';
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
  };
  const opened = openCheckpoint(dir, program, batch, Date.now());
  try {
    tellStart(config, view);
    const result = await runConnected(config, scenes, opened, view);
    tellEnd(config, result, view);
    recordEnd(opened, result.ending);
    return endings[result.ending.kind].exitCode;
  } catch (thrown) {
    recordDeath(opened, { kind: refusalOf(thrown, dir)?.ending ?? 'bug', text: (thrown as Error).message });
    throw thrown;
  } finally {
    view.close();
    opened.close();
  }
}

function recordEnd(opened: OpenCheckpoint, { kind, text }: Ending): void {
  opened.recordEnd({ at: Date.now(), exitCode: endings[kind].exitCode, ending: text });
}

/** Where not even this can be written, what was thrown first is what the user should hear. */
function recordDeath(opened: OpenCheckpoint, ending: Ending): void {
  try {
    recordEnd(opened, ending);
  } catch (error) {
    if (refusalOf(error, undefined) === undefined) throw error;
  }
}

async function runConnected(
  config: Config,
  scenes: ReadScenes,
  opened: OpenCheckpoint,
  view: RunView,
): Promise<BatchResult> {
  const connections = await connect(config, await opened.checkpoint.openAttempts(), (text) =>
    view.tell({ type: 'warning', text }),
  );
  const service = new HttpRenderService({
    connectionOf: connections.of,
    requestTimeoutMs: config.timeouts.requestMs,
    maxBodyBytes: config.limits.bodyBytes,
    imagePath: config.output.imagePath,
  });
  try {
    const ports = await assemblePorts(config, opened, service, view);
    return await runUntilStopped(config, scenes, ports);
  } finally {
    await service.close();
    await connections.close();
  }
}

async function assemblePorts(
  config: Config,
  opened: OpenCheckpoint,
  service: HttpRenderService,
  view: RunView,
): Promise<Ports> {
  const { dir } = config.output;
  const images = createImageStore(join(dir, 'images'), { maxPixels: config.limits.pixels });
  await images.prepare();
  const report = {
    write: async (ending: Ending) => {
      recordEnd(opened, ending);
      const files = await writeBatchReport(dir, Date.now());
      if (files === undefined) throw new Error('the checkpoint of this run is gone');
      return join(dir, 'report');
    },
  };
  const { checkpoint } = opened;
  return { service, checkpoint, images, report, clock: systemClock, random: Math.random, tell: view.tell };
}

async function runUntilStopped(config: Config, scenes: ReadScenes, ports: Ports): Promise<BatchResult> {
  const stop = new Stop(({ kind, text }) => ports.tell({ type: 'stopping', ending: kind, text }));
  const stopListening = stopOnSignals(stop);
  try {
    return await runBatch(scenes.stage, ports, batchSettings(config), stop);
  } finally {
    stopListening();
  }
}

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
