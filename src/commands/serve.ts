/** `nightrender serve`: the local service as a program of its own. */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { ConfigError } from '../config/problem.ts';
import { duration } from '../config/quantities.ts';
import { makeFolder } from '../disk/make-folder.ts';
import { endpointSettings } from '../server/endpoint-settings.ts';
import { painterWorkload } from '../server/painter-workload.ts';
import { startService } from '../server/start-service.ts';
import { showServing, showServiceTrouble } from '../terminal/show-serving.ts';
import { defaultDataDir } from './default-data-dir.ts';
import { oneText } from './one-text.ts';
import { refuse } from './refuse.ts';
import { shownPath } from './shown-path.ts';
import { untilSignal } from './until-signal.ts';
import { inWords, wholeNumber } from './whole-number.ts';

/** Serves until SIGINT or SIGTERM; resolves to the exit code. */
export async function serve(argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dataDir: string | undefined;
  try {
    dataDir = resolve(oneText(argv, 'data') ?? defaultDataDir());
    makeFolder(dataDir, 0o700);
    const givenKey = process.env['NIGHTRENDER_API_KEY'];
    const apiKey = givenKey ?? randomBytes(24).toString('hex');
    const endpointId = oneText(argv, 'endpoint') ?? '';
    const service = await startService({
      dataDir,
      port: wholeNumber(argv, 'port', 0, 65_535),
      keys: [apiKey],
      endpoints: [endpointSettings({ id: endpointId, workers: wholeNumber(argv, 'workers', 1, 1_000) })],
      workloadOf: () => painterWorkload,
      retentionMs: readRetention(argv['retention']),
      onTrouble: showServiceTrouble,
    });
    const shown = { url: service.url, endpointId, dataDir, shownDataDir: shownPath(dataDir) };
    const told = untilSignal();
    showServing({ ...shown, newKey: givenKey === undefined ? apiKey : undefined }, json);
    await told;
    await service.close();
    return 0;
  } catch (thrown) {
    return refuse(thrown, dataDir, json);
  }
}

function readRetention(value: unknown): number {
  const read = duration.safeParse(value);
  if (read.success && read.data >= 1) return read.data;
  throw new ConfigError([
    { where: '--retention', text: `${inWords(value)} is given; expected a duration such as 30m` },
  ]);
}
