/** One side through one scenario, against a bench service of its own: checked, then measured. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Account } from './job-book.ts';
import { runMeasured, type ProcessUse } from './measured-process.ts';
import { Refusal } from './refusal.ts';
import type { Scenario } from './scenario.ts';
import { sceneId, type Side } from './sides.ts';

export interface Result extends ProcessUse {
  account: Account;
}

/** Refuses where a scene was lost, submitted twice, or has a wrong file. `nodeArgs` go before the program's. */
export async function runSide(
  side: Side,
  scenario: Scenario,
  picture: Buffer,
  nodeArgs: string[] = [],
): Promise<Result> {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-bench-'));
  const service = await startService(dir, scenario, picture);
  try {
    const args = side.prepare(dir, service.url, scenario);
    const use = await runMeasured(side.name, [...nodeArgs, ...args], dir);
    const account = (await (await fetch(`${service.url}/account`)).json()) as Account;
    const problem =
      accountProblem(account, scenario) ?? filesProblem(join(dir, side.picturesDir), scenario, picture);
    if (problem !== undefined) throw new Refusal(`${scenario.name}: ${side.name} ${problem}`);
    return { ...use, account };
  } finally {
    await service.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function startService(
  dir: string,
  scenario: Scenario,
  picture: Buffer,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const pictureFile = join(dir, 'picture.png');
  writeFileSync(pictureFile, picture);
  const program = fileURLToPath(new URL('./bench-service.js', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(scenario), pictureFile], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const url = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), closed]);
  if (child.exitCode !== null) throw new Error('the bench service did not start');
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await closed;
  };
  return { url: String(url[0]).trim(), stop };
}

function accountProblem(account: Account, { scenes, inFlight }: Scenario): string | undefined {
  const { submissions, collected, mostInFlight, refused } = account;
  if (account.scenes !== scenes) return `submitted ${account.scenes} of ${scenes} scenes`;
  if (submissions !== scenes) return `submitted ${submissions} jobs for ${scenes} scenes`;
  if (collected !== scenes) return `collected ${collected} of ${scenes} jobs`;
  if (mostInFlight > inFlight) return `had ${mostInFlight} jobs in flight where ${inFlight} are allowed`;
  if (refused > 0) return `sent ${refused} requests that had to be refused`;
  return undefined;
}

function filesProblem(dir: string, { scenes }: Scenario, picture: Buffer): string | undefined {
  const files = new Set(readdirSync(dir));
  for (let i = 0; i < scenes; i++) {
    const file = `${sceneId(i)}.png`;
    if (!files.delete(file)) return `left no ${file}`;
    if (!readFileSync(join(dir, file)).equals(picture)) return `left a ${file} that is not what was rendered`;
  }
  const [stranger] = files;
  return stranger === undefined ? undefined : `left ${stranger}, which belongs to no scene`;
}
