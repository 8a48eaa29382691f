/** The settings of the pipeline, out of the configuration. */
import { hash } from 'node:crypto';
import type { Config } from '../runner/config/config.ts';
import { defaultName, type DefaultNames } from '../runner/core/default-name.ts';
import { noPicture } from '../runner/core/named-file.ts';
import { copyEnding } from '../runner/core/picture-copy.ts';
import { pictureEndings } from '../runner/core/picture-format.ts';
import type { BatchSettings } from '../runner/pipeline/settings.ts';

/** One request beside thousands of others. */
const healthEveryMs = 30_000;

/** `now` is the moment at which the run begins, epoch ms; `names`: those that the batch has by default. */
export function batchSettings(config: Config, now: number, names: DefaultNames): BatchSettings {
  const { endpoint, concurrency, retry, polling, halt, rate, pricing, timeouts, output } = config;
  return {
    endpoint,
    concurrency,
    retry,
    polling,
    halt,
    rate,
    pricing,
    timeouts,
    limits: limitsOf(config, now),
    unknownPictures: 'ask',
    ...(config.service.kind !== 'described' && { healthEveryMs }),
    shutdownGraceMs: config.shutdownGraceMs,
    isNamedByAttempt: output.pictures !== undefined,
    files: output.files,
    ...(config.scenes?.until !== undefined && { decidingValues: output.values }),
    isWithoutPictures: output.imagePath === noPicture,
    copyEndings: endingsBeside(output),
    outputSettings: outputSettings(config),
    reportEveryMs: config.report.everyMs,
    // A service that reports no seed has used the one that it was sent.
    pictureName: ({ columns, seed, input, ...picture }) =>
      output.name?.renderText({
        ...columns,
        seed: seed === '' ? (columns['seed'] ?? '') : seed,
        ...picture,
      }) ?? defaultName({ id: picture.id, columns, input }, names),
  };
}

/** All that decides whether a picture is found in an output and taken. */
function outputSettings({ output, limits, service, statuses }: Config): string {
  const { imagePath, files, values, hosts } = output;
  const { bodyBytes, pixels } = limits;
  const places =
    service.kind === 'described' ? [service.description.result, service.description.status.map] : undefined;
  return hash(
    'sha256',
    JSON.stringify([imagePath, files, values, hosts, bodyBytes, pixels, places, statuses]),
  );
}

/** Of copies, and of the pictures themselves where those are kept as they came: `a-512.webp` may be either. */
function endingsBeside({ formats, keep }: Config['output']): string[] {
  const copies = formats.map(copyEnding);
  return keep === 'original' ? [...copies, ...Object.values(pictureEndings)] : copies;
}

function limitsOf({ limits }: Config, now: number): BatchSettings['limits'] {
  const { forMs, until, cost, jobs } = limits;
  return {
    ...(forMs !== undefined && { forMs }),
    ...(until !== undefined && { untilAt: nextHour(until, now) }),
    ...(cost !== undefined && { cost }),
    ...(jobs !== undefined && { jobs }),
  };
}

/** When the clock on the wall next shows `07:00`, epoch ms. */
export function nextHour(text: string, now: number): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at.getTime() <= now) at.setDate(at.getDate() + 1);
  return at.getTime();
}
