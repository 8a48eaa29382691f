/** The edges of a batch, put together for a piece of work on it and taken down after it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ByteSemaphore } from '../lib/limits/byte-semaphore.ts';
import type { OpenCheckpoint } from '../runner/checkpoint/open-checkpoint.ts';
import { HttpRenderService } from '../runner/client/http-render-service.ts';
import { HttpsDownloads } from '../runner/client/https-downloads.ts';
import { sendingFiles } from '../runner/client/sending-files.ts';
import type { Config } from '../runner/config/config.ts';
import type { Endpoint } from '../runner/core/attempt.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import type { Listener, Report } from '../runner/pipeline/ports.ts';
import type { Ports } from '../runner/pipeline/ports.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { writeBatchReport } from './batch-report.ts';
import { connect } from './connections.ts';
import { keptText } from './shown-path.ts';
import { outputFiles } from './output-files.ts';
import { systemClock } from './system-clock.ts';
import { endings, type Ending } from '../runner/core/ending.ts';
import type { RunStats } from '../runner/core/run-stats.ts';
import { refusalOf } from './refusal.ts';

interface Batch {
  config: Config;
  opened: OpenCheckpoint;
  /** All that are talked to: where jobs are sent, and where some are in flight. */
  endpoints: Endpoint[];
  emit: Listener;
  /** Its requests are emitted. */
  stop: Stop;
  /** Pictures that were kept as `.former` before; none where it is left out. */
  kept?: number;
}

export async function withPorts<Result>(
  { config, opened, endpoints, emit, stop, kept = 0 }: Batch,
  work: (ports: Ports) => Promise<Result>,
): Promise<Result> {
  stop.onEnding(({ kind, text }) => emit({ type: 'stopping', ending: kind, text }));
  const connections = await connect(config, endpoints, (text) => emit({ type: 'warning', text }));
  const memory = new ByteSemaphore(config.limits.memoryBytes);
  const service = new HttpRenderService({
    memory,
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
    const images = createImageStore(join(config.output.dir, 'images'), {
      maxPixels: config.limits.pixels,
      ...config.check,
      ...outputFiles(config.output, (text) => emit({ type: 'warning', text })),
      reportDir: config.report.hasThumbnails ? join(config.output.dir, 'report') : undefined,
    });
    await images.prepare();
    const report = reportOf(config.output.dir, opened);
    const { checkpoint } = opened;
    const ports = {
      // Of memory of its own: a job that is being sent must not wait for pictures, nor they for it.
      service: sendingFiles(service, config.folder, new ByteSemaphore(config.limits.memoryBytes)),
      downloads,
      checkpoint,
      images,
      report,
      clock: systemClock,
      random: Math.random,
      emit,
    };
    const result = await work(ports);
    const former = keptText(kept + images.kept(), config.output.dir);
    if (former !== undefined) emit({ type: 'warning', text: former });
    return result;
  } finally {
    await service.close();
    await downloads.close();
    await connections.close();
  }
}

/** How the work ended goes on record first, since the report shows it. */
function reportOf(dir: string, opened: OpenCheckpoint): Report {
  return {
    write: async (ending, signal, stats) => {
      recordEnd(opened, ending, stats);
      return (await isWritten(dir, signal)) ? join(dir, 'report') : undefined;
    },
    update: async (signal) => void (await isWritten(dir, signal)),
    keep: async (ending) => keptReport(dir, opened, ending),
  };
}

/** As `Report.keep`. */
export function keptReport(dir: string, opened: OpenCheckpoint, ending?: Ending): string | undefined {
  const folder = join(dir, 'report');
  const reportedAt = existsSync(join(folder, 'index.html')) ? writtenAtOf(folder) : NaN;
  return opened.forgetRun(reportedAt, ending && endOf(ending)) ? folder : undefined;
}

/** Of result files, epoch ms; NaN where it is unknown. */
function writtenAtOf(folder: string): number {
  try {
    const { writtenAt } = JSON.parse(readFileSync(join(folder, 'summary.json'), 'utf8')) as {
      writtenAt: string;
    };
    return Date.parse(writtenAt);
  } catch {
    return NaN;
  }
}

/** Whether the report was written: not where `signal` aborts before. `now`: epoch ms. */
export async function isWritten(dir: string, signal: AbortSignal, now = Date.now()): Promise<boolean> {
  try {
    const files = await writeBatchReport(dir, now, signal);
    if (files === undefined)
      throw new FatalFailure({
        kind: 'output-unwritable',
        text: 'the checkpoint was removed during the run',
      });
    return true;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return false;
    throw error;
  }
}

/** Where the disk does not take even this, the ending itself reports that. */
export function recordEnd(opened: OpenCheckpoint, ending: Ending, stats?: RunStats): void {
  try {
    opened.recordEnd({ at: Date.now(), ...endOf(ending), stats });
  } catch (error) {
    if (refusalOf(error, undefined)?.ending !== 'output-unwritable') throw error;
  }
}

function endOf({ kind, text }: Ending): { exitCode: number; ending: string } {
  return { exitCode: endings[kind].exitCode, ending: text };
}

/** As above, for whatever was thrown. */
export function recordThrown(opened: OpenCheckpoint, thrown: unknown, dir: string): void {
  recordEnd(opened, { kind: refusalOf(thrown, dir)?.ending ?? 'bug', text: (thrown as Error).message });
}
