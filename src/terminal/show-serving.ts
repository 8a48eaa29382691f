/** What the local service says of itself when it is up. */
import { writeError, writeOut } from './console.ts';
import { writeJsonLine } from './json-lines.ts';

export interface Serving {
  url: string;
  endpointId: string;
  dataDir: string;
  shownDataDir: string;
  /** A key that was made for this start; undefined where the environment gave one. */
  newKey: string | undefined;
}

export function showServing(serving: Serving, json: boolean): void {
  const { shownDataDir, newKey, ...data } = serving;
  if (json) return writeJsonLine('serving', { ...data, ...(newKey !== undefined && { apiKey: newKey }) });
  const key =
    newKey === undefined
      ? ['The key is the one in NIGHTRENDER_API_KEY.']
      : [
          'The key of this start (set NIGHTRENDER_API_KEY to keep one):',
          '',
          `  export NIGHTRENDER_API_KEY=${newKey}`,
        ];
  const lines = [
    `The local service is up at ${serving.url}; its jobs are kept in ${shownDataDir}. Ctrl-C ends it.`,
    ...key,
    '',
    'In pipeline.yaml:',
    '',
    '  endpoint:',
    `    baseUrl: ${serving.url}`,
    `    id: ${serving.endpointId}`,
    '    apiKey: ${NIGHTRENDER_API_KEY}',
  ];
  writeOut(lines.join('\n'));
}

export function showServiceTrouble(text: string): void {
  writeError(`service: ${text}`);
}
