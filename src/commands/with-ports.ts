/** The edges of a batch, put together for a piece of work on it and taken down after it. */
import { join } from 'node:path';
import type { OpenCheckpoint } from '../checkpoint/open-checkpoint.ts';
import { HttpRenderService } from '../client/http-render-service.ts';
import { HttpsDownloads } from '../client/https-downloads.ts';
import type { Config } from '../config/config.ts';
import type { Endpoint } from '../core/attempt.ts';
import type { Ending } from '../core/ending.ts';
import { Trouble } from '../core/failure.ts';
import { createImageStore } from '../images/image-store.ts';
import type { Listener, Report } from '../pipeline/ports.ts';
import type { Ports } from '../pipeline/run.ts';
import { Stop } from '../pipeline/stop.ts';
import { writeBatchReport } from './batch-report.ts';
import { connect } from './connections.ts';
import { recordEnd } from './record-end.ts';
import { stopOnSignals } from './signals.ts';
import { systemClock } from './system-clock.ts';

interface Batch {
  config: Config;
  opened: OpenCheckpoint;
  /** All that are talked to: where jobs are sent, and where some are in flight. */
  endpoints: Endpoint[];
  tell: Listener;
}

/** Signals reach `stop` while the work is being done. */
export async function withPorts<Result>(
  { config, opened, endpoints, tell }: Batch,
  work: (ports: Ports, stop: Stop) => Promise<Result>,
): Promise<Result> {
  const connections = await connect(config, endpoints, (text) => tell({ type: 'warning', text }));
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
  const stop = new Stop(({ kind, text }) => tell({ type: 'stopping', ending: kind, text }));
  try {
    const images = createImageStore(join(config.output.dir, 'images'), {
      maxPixels: config.limits.pixels,
      ...config.check,
    });
    await images.prepare();
    const report = reportOf(config.output.dir, opened);
    const { checkpoint } = opened;
    const ports = {
      service,
      downloads,
      checkpoint,
      images,
      report,
      clock: systemClock,
      random: Math.random,
      tell,
    };
    const stopListening = stopOnSignals(stop);
    return await work(ports, stop).finally(stopListening);
  } finally {
    await service.close();
    await downloads.close();
    await connections.close();
  }
}

/** How the work ended goes on record first, since the report tells it. */
function reportOf(dir: string, opened: OpenCheckpoint): Report {
  return {
    write: async (ending: Ending) => {
      recordEnd(opened, ending);
      const files = await writeBatchReport(dir, Date.now());
      if (files === undefined) throw new Trouble({ kind: 'output-unwritable', text: checkpointGone });
      return join(dir, 'report');
    },
  };
}

const checkpointGone =
  'the checkpoint was removed during the run: what it knew of jobs in flight is lost; see what removes files from the output folder';
