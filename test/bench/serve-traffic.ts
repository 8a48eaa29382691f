/** The requests that other processes send to a service, and the results. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Data } from './serve-data.ts';

export interface Traffic {
  url: string;
  /** `mixed`: two submissions for every five status requests. `pull`: takes a job and delivers its result. */
  kind: 'submit' | 'status' | 'mixed' | 'pull' | 'health';
  data: Pick<Data, 'clientKeys' | 'workerKey' | 'idsFile'>;
  /** Number of connections. Each always has one request in progress. */
  connections: number;
  /** Duration in seconds, or number of requests. */
  seconds?: number;
  requests?: number;
}

/** Results. All requests were answered with 200. */
export interface Got {
  /** Number of requests. For `pull`, number of pairs of requests. */
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
