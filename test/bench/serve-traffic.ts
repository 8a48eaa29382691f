/** What a service is asked by the processes beside it, and what came of it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Data } from './serve-data.ts';

export interface Traffic {
  url: string;
  /** `mixed` is two submissions on five status requests; `pull` takes a job and hands its result in. */
  kind: 'submit' | 'status' | 'mixed' | 'pull' | 'health';
  data: Pick<Data, 'clientKeys' | 'workerKey' | 'idsFile'>;
  /** Each has a request under way at any time. */
  connections: number;
  /** For how long, or how many. */
  seconds?: number;
  requests?: number;
}

/** All were answered with 200. */
export interface Got {
  /** Pairs of them for `pull`. */
  requests: number;
  submissions: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

const program = fileURLToPath(new URL('./serve-load.js', import.meta.url));

export async function send(traffic: Traffic): Promise<Got> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(traffic)]);
  return JSON.parse(stdout) as Got;
}
