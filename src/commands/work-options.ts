/** What `nightrender work` is told by options and environment, checked. */
import { resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../lib/yaml/problem.ts';
import { durationWithin, longestWait } from '../lib/yaml/scalar-schemas.ts';
import type { WorkloadSettings } from '../service/endpoint-settings.ts';
import { fitsHeader } from '../service/keys/key.ts';
import { isLoopback } from '../service/service-options.ts';
import { defaultDataDir } from './data-folder.ts';
import { oneText, textIn, wholeNumber } from './option-values.ts';

export const keyName = 'NIGHTRENDER_WORKER_KEY';

/** Throws `ConfigError`. */
export function workOptions(argv: Record<string, unknown>): WorkOptions {
  const gpu = oneText(argv, 'gpu');
  if (gpu !== undefined && !/^[A-Za-z0-9-]{1,64}$/.test(gpu))
    throw problem('--gpu', `${JSON.stringify(gpu)} is given; expected the number of one GPU, such as 0`);
  const { recycle, jobs } = argv;
  return {
    url: addressIn(textIn(argv, 'service'), argv['insecure'] === true),
    endpointId: endpointIn(oneText(argv, 'endpoint')),
    workerKey: keyIn(process.env[keyName]),
    allowed: allowedIn(oneText(argv, 'allow') ?? 'scene'),
    gpu,
    jobs: jobs === undefined ? 1 : wholeNumber(argv, 'jobs', 1, 64),
    idleMs: durationIn(argv, 'idle'),
    graceMs: durationIn(argv, 'grace') ?? 600_000,
    recycleJobs: recycle === undefined ? undefined : wholeNumber(argv, 'recycle', 1, 1_000_000),
    environment: environmentIn(oneText(argv, 'env')),
    dataDir: resolve(oneText(argv, 'data') ?? defaultDataDir()),
  };
}

export interface WorkOptions {
  url: string;
  endpointId: string;
  workerKey: string;
  allowed: Allowed[];
  gpu: string | undefined;
  jobs: number;
  idleMs: number | undefined;
  graceMs: number;
  recycleJobs: number | undefined;
  environment: Record<string, string>;
  dataDir: string;
}

function environmentIn(names: string | undefined): Record<string, string> {
  const given = (names ?? '').split(',').map((name) => [name.trim(), process.env[name.trim()]] as const);
  return Object.fromEntries(given.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

function addressIn(text: string, isInsecure: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '')
    throw problem(
      'service',
      `${JSON.stringify(text)} is no address; expected one such as https://render.example`,
    );
  if (/\/(v\d|console)(\/|$)/.test(url.pathname))
    throw problem('service', `${text} is too long: give the address of the service alone, ${url.origin}`);
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replaceAll(/[[\]]/g, '')) && !isInsecure)
    throw problem(
      'service',
      `${text} is not encrypted: anybody on the way can read key and pictures; use https:, or add --insecure in a network that you trust`,
    );
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function endpointIn(text: string | undefined): string {
  if (text !== undefined && /^[A-Za-z0-9_-]{1,128}$/.test(text)) return text;
  throw problem('--endpoint', `${JSON.stringify(text ?? '')} is given; expected the id of an endpoint`);
}

function keyIn(key: string | undefined): string {
  if (key !== undefined && fitsHeader(key)) return key;
  const what = key === undefined ? 'is not set' : 'is empty or holds characters that a header cannot carry';
  throw problem(
    keyName,
    `${what}; on the service, make one with \`nightrender keys add NAME --kind worker --endpoint ID\``,
  );
}

interface Allowed {
  /** As it was given, and as the service says what an endpoint runs. */
  text: string;
  workload: WorkloadSettings;
}

/** A comma may also stand within a command. */
function allowedIn(list: string): Allowed[] {
  const texts = list.split(/,(?=\s*(?:painter|scene|command:|image:))/).map((text) => text.trim());
  return texts.map((text) => ({ text, workload: workloadIn(text) }));
}

function workloadIn(text: string): WorkloadSettings {
  const [kind = '', ...rest] = text.split(':');
  const what = rest.join(':').trim();
  if (text === 'painter') return { kind: 'prebuilt', name: 'painter' };
  if (text === 'scene') return { kind: 'prebuilt', name: 'scene-renderer' };
  if (kind === 'command' && what !== '')
    return { kind: 'command', command: ['sh', '-c', what], cwd: process.cwd() };
  if (kind === 'image' && /^[\w./:@-]+$/.test(what)) return { kind: 'image', image: what, arguments: [] };
  throw problem(
    '--allow',
    `${JSON.stringify(text)} is given; expected painter, scene, command:LINE or image:NAME, or several with commas`,
  );
}

const settable = z.object({ value: durationWithin('1s', longestWait) });

function durationIn(argv: Record<string, unknown>, name: string): number | undefined {
  const text = oneText(argv, name);
  if (text === undefined) return undefined;
  const read = settable.safeParse({ value: text });
  if (read.success) return read.data.value;
  throw problem(`--${name}`, `${JSON.stringify(text)} is given; expected a duration such as 30s or 5m`);
}

export function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}
