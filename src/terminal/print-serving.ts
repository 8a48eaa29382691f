/** What `serve` and `watch` print when they are up. */
import { outColumns, writeError, writeOut } from './console.ts';
import { harmless } from './fit-text.ts';
import { hanging } from './hanging.ts';
import { writeJsonLine } from './json-lines.ts';

export interface Serving {
  url: string;
  /** That its certificate holds for; undefined where it has none. */
  name: string | undefined;
  /** Those of the file; there may be more, of the console. */
  endpoints: { id: string; name: string }[];
  dataDir: string;
  shownDataDir: string;
  /** The first key of this data folder, made by this start. */
  newKey: string | undefined;
  /** Whether the environment brought a key. */
  hasGivenKey: boolean;
}

export function printServing(serving: Serving, json: boolean): void {
  const { url, endpoints, dataDir, newKey } = serving;
  const apiKey = newKey === undefined ? {} : { apiKey: newKey };
  if (json) {
    const endpointIds = endpoints.map(({ id }) => id);
    return writeJsonLine('serving', { url, endpointIds, dataDir, ...apiKey });
  }
  writeOut([...whereItIs(serving), ...keyLines(serving), '', ...howToUse(serving)].join('\n'));
}

/** Workers have their say in it. */
export function printServiceFailure(text: string): void {
  writeError(harmless(`service: ${text}`));
}

function whereItIs({ url, name: certified, endpoints, shownDataDir }: Serving): string[] {
  const names = endpoints.map(({ id, name }) => (id === name ? id : `${name} (${id})`)).join(', ');
  const here = onThisMachine(url, certified);
  const others = `this machine's name or address, port ${new URL(url).port}`;
  const lines: [string, string][] = [
    ['  console', `${here}/console/`],
    ...(here === url ? [] : ([['  others', others]] as [string, string][])),
    ['  endpoints', names || 'none yet: create one in the console'],
    ['  kept in', shownDataDir],
  ];
  return [
    `Listening on ${here}; stop with Ctrl-C.`,
    ...lines.flatMap(([name, text]) => hanging(name, text, outColumns(), 13)),
  ];
}

/** An address that means all of a machine's can be listened at, but not asked for; a certificate holds for its name alone. */
function onThisMachine(url: string, name: string | undefined): string {
  if (name !== undefined) return `https://${name}:${new URL(url).port}`;
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function keyLines({ newKey, hasGivenKey }: Serving): string[] {
  if (hasGivenKey) return ['  key        the one in NIGHTRENDER_API_KEY'];
  if (newKey === undefined) return ['  key        one of `nightrender keys list`'];
  return [
    '',
    'The first key, shown only once (`nightrender keys add` creates more):',
    '',
    `  export NIGHTRENDER_API_KEY=${newKey}`,
  ];
}

function howToUse({ url, name, endpoints }: Serving): string[] {
  const [first] = endpoints;
  if (first === undefined) return ['Sign in to the console with the key.'];
  return [
    'In pipeline.yaml:',
    '',
    '  endpoint:',
    `    baseUrl: ${onThisMachine(url, name)}`,
    `    id: ${first.id}`,
    '    apiKey: ${NIGHTRENDER_API_KEY}',
  ];
}

export interface Watching {
  url: string;
  dir: string;
  shownDir: string;
  hasBatch: boolean;
}

export function printWatching({ url, dir, shownDir, hasBatch }: Watching, json: boolean): void {
  if (json) return writeJsonLine('watching', { url, dir });
  const waits = hasBatch ? '' : ' There is no batch yet; the page waits for one.';
  writeOut(`Watch ${shownDir} at ${url} (this machine only, read-only).${waits}`);
  writeOut('Ctrl-C stops the page, not the run.');
}

export function printWatchFailure(text: string): void {
  writeError(`watch: ${harmless(text)}`);
}
