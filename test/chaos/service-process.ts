/** The hostile service as the driver of the chaos sees it: a process of its own that tells its account. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Account, ServiceSettings } from './account.ts';
import { builtFolder } from './built-folder.ts';

export interface HostileService {
  url: string;
  account: () => Promise<Account>;
  /** Deletes the results that are there, as if the retention period had passed. */
  age: () => Promise<void>;
  stop: () => Promise<void>;
}

export async function startHostileService(settings: ServiceSettings): Promise<HostileService> {
  const program = join(builtFolder, 'chaos/hostile-service.js');
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const [said] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), closed]);
  if (child.exitCode !== null) throw new Error('the hostile service did not start');
  const url = String(said).trim();
  return {
    url,
    account: async () => (await (await fetch(`${url}/account`)).json()) as Account,
    age: async () => void (await (await fetch(`${url}/age`)).text()),
    stop: async () => {
      child.stdin.end();
      await closed;
    },
  };
}
