/** Starts a bench service in a separate process, and requests its measures. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServiceMeasures } from './service-measures.ts';
import type { Load } from './load.ts';

export interface BenchService {
  url: string;
  measures(): Promise<ServiceMeasures>;
  /** Resolves to the instant of the next submission, in epoch ms. */
  nextSubmission(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the service. Writes its picture into `dir`. */
export async function startService(dir: string, load: Load, picture: Buffer): Promise<BenchService> {
  const pictureFile = join(dir, 'picture.png');
  writeFileSync(pictureFile, picture);
  const program = fileURLToPath(new URL('./bench-service.js', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(load), pictureFile], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const first = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), closed]);
  if (child.exitCode !== null) throw new Error('the bench service did not start');
  const url = String(first[0]).trim();
  return {
    url,
    measures: async () => (await (await fetch(`${url}/measures`)).json()) as ServiceMeasures,
    nextSubmission: async () => ((await (await fetch(`${url}/watch`)).json()) as { at: number }).at,
    stop: async () => {
      child.stdin.end();
      await closed;
    },
  };
}
