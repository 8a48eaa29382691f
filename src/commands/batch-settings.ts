/** What the road is told, out of the configuration. */
import type { Config } from '../config/config.ts';
import type { BatchSettings } from '../pipeline/settings.ts';

export function batchSettings(config: Config): BatchSettings {
  const { endpoint, concurrency, retry, polling, halt, timeouts, limits, shutdownGraceMs, output } = config;
  return {
    endpoint,
    concurrency,
    retry,
    polling,
    halt,
    timeouts,
    submitForMs: limits.forMs,
    shutdownGraceMs,
    pictureName: ({ columns, ...picture }) => output.name.renderText({ ...columns, ...picture }),
  };
}
