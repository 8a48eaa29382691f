/** The hostile service as the driver of the chaos sees it: a process of its own that reports its jobs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServiceReport, ServiceSettings, TurnedAway } from './service-report.ts';
import { packageFile } from '../../src/lib/files/package-file.ts';

export interface HostileService {
  url: string;
  report: () => Promise<ServiceReport>;
  /** Deletes the results that are there, as if the retention period had passed. */
  age: () => Promise<void>;
  /** From now on everybody is turned away, by one of the closed doors. */
  close: (door: string) => Promise<void>;
  open: () => Promise<TurnedAway>;
  /** For so long no connection is made. */
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
