/** A run on a batch whose lock is held. */
import type { Config } from '../config/config.ts';
import { endings } from '../core/ending.ts';
import type { Part } from '../core/part.ts';
import { runBatch, type BatchResult } from '../pipeline/run-batch.ts';
import type { Stop } from '../pipeline/stop.ts';
import { createRunView } from '../terminal/run-view.ts';
import type { RunView } from '../terminal/view.ts';
import { batchSettings } from './batch-settings.ts';
import { beginBatch } from './begin-batch.ts';
import type { ReadScenes } from './read-scenes.ts';
import { recordEnd, recordThrown } from './record-end.ts';
import { shownPath } from './shown-path.ts';
import { systemClock } from './system-clock.ts';
import { program } from './version.ts';
import { withPorts } from './with-ports.ts';

/**
 * `file` is the pipeline.yaml, as it was given. Without scenes what is in flight is collected, and the batch stays what
 * its latest run has made of it. Of a `part`, only its scenes are rendered. Resolves to the exit code.
 */
export async function runLocked(
  file: string,
  config: Config,
  scenes: ReadScenes | undefined,
  part: Part | undefined,
  stop: Stop,
): Promise<number> {
  const { dir } = config.output;
  const view = createRunView({
    ...config.terminal,
    file,
    shownDir: shownPath(dir),
    now: Date.now,
    elapsed: () => systemClock.elapsed(),
  });
  const { opened, inFlight, warning } = beginBatch(file, config, scenes, dir);
  try {
    tellStart(config, view);
    if (warning !== undefined) view.tell({ type: 'warning', text: warning });
    const endpoints = [config.endpoint, ...inFlight.map(({ endpoint }) => endpoint)];
    const result = await withPorts({ config, opened, endpoints, tell: view.tell, stop }, (ports) =>
      runBatch(
        scenes?.stage,
        ports,
        { ...batchSettings(config, systemClock.now()), ...(part && { part }) },
        stop,
      ),
    );
    tellEnd(config, result, opened.untold(), view);
    // With the report the end went on record; without one it is another than the report was given.
    if (result.report === undefined) recordEnd(opened, result.ending, result.stats);
    return endings[result.ending.kind].exitCode;
  } catch (thrown) {
    recordThrown(opened, thrown, dir);
    throw thrown;
  } finally {
    view.close();
    opened.close();
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

function tellEnd(
  config: Config,
  { ending, counts, part, report, cost, stats }: BatchResult,
  untold: number,
  view: RunView,
): void {
  const { kind, text } = ending;
  const { exitCode } = endings[kind];
  if (config.terminal.stats) view.tell({ type: 'run-stats', ...stats });
  view.tell({
    type: 'run-ended',
    ending: kind,
    exitCode,
    text,
    counts,
    ...(part && { part }),
    outputDir: config.output.dir,
    report,
    cost,
    untold,
  });
}
