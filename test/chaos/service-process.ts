/** Starts the hostile service in a separate process, and controls it for the driver of the chaos test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServiceReport, ServiceSettings, TurnedAway } from './service-report.ts';
import { packageFile } from '../../src/lib/files/package-file.ts';

export interface HostileService {
  url: string;
  report: () => Promise<ServiceReport>;
  /** Deletes all present results, as if the retention had passed. */
  age: () => Promise<void>;
  /** Rejects all requests from now on, in one way of `closedDoors`. */
  close: (door: string) => Promise<void>;
  open: () => Promise<TurnedAway>;
  /** Refuses connections for this number of ms. */
  refuse: (ms: number) => Promise<void>;
  stop: () => Promise<void>;
}

export async function startHostileService(settings: ServiceSettings): Promise<HostileService> {
  const program = packageFile('dist/test/chaos/hostile-service.js');
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const [said] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), closed]);
  if (child.exitCode !== null) throw new Error('the hostile service did not start');
  const [url = '', control = ''] = String(said).trim().split(' ');
  const ask = async (what: string, word = ''): Promise<unknown> =>
    (await fetch(`${control}/${what}?word=${encodeURIComponent(word)}`)).json();
  return {
    url,
    report: async () => (await ask('report')) as ServiceReport,
    age: async () => void (await ask('age')),
    close: async (door) => void (await ask('close', door)),
    open: async () => (await ask('open')) as TurnedAway,
    refuse: async (ms) => void (await ask('refuse', String(ms))),
    stop: async () => {
      child.stdin.end();
      await closed;
    },
  };
}
