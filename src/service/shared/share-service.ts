/** A service of several processes: this one leads, or hands on what it is asked to the one that does. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { jobsFile, keysFile, openService, type OpenService, type Surroundings } from '../open-service.ts';
import type { CheckedOptions, SharedOptions } from '../service-options.ts';
import { Leadership, type Write } from './leadership.ts';
import type { LeadingSession } from './leading-session.ts';
import { PageStore } from './page-store.ts';
import { Relay } from './relay.ts';
import { SharedAnswers } from './shared-answers.ts';
import { BucketFiles, SharedFiles } from './shared-files.ts';

type Around = Omit<Surroundings, 'dataDir' | 'shared'>;

/** Resolves when it is known who leads. Throws `PostgresFailure`, or as `openService`. */
export async function shareService(
  options: CheckedOptions,
  { address, bucket, reachedAt, onChange }: SharedOptions,
  around: Around,
): Promise<Pick<OpenService, 'answer' | 'drain' | 'close'>> {
  const { onProblem } = options;
  const store = await PageStore.open(address);
  try {
    const secret = await store.prepare();
    if (existsSync(join(options.dataDir, jobsFile)))
      onProblem(`the jobs and keys in ${options.dataDir} are of a service without \`store\`, and stay there`);
    const relay = new Relay(secret, around.proxies);
    const url = reachedAt ?? around.url;
    let isStopping = false;
    // One that leads no more goes on to hand requests on.
    const closeConnections = async () => void (isStopping && (await around.closeConnections()));
    const files = bucket === undefined ? store : new BucketFiles(bucket, secret);
    const open = async (session: LeadingSession, write: Write): Promise<OpenService> => {
      const dataDir = join(options.dataDir, 'shared');
      await restore(session, dataDir);
      const shared = { name: store.shown, secret, write, texts: new SharedFiles(files, onProblem) };
      // The ages of jobs are by one clock, whichever machine leads.
      const aheadMs = (await session.now()) - options.now();
      const now = (): number => options.now() + aheadMs;
      return openService({ ...options, now }, { ...around, url, dataDir, closeConnections, shared });
    };
    const onTerm = (): void => relay.giveUp();
    const onStuck = (): void => answers.giveUp();
    const leadership = new Leadership({ store, url, open, onProblem, onChange, onTerm, onStuck });
    const answers = new SharedAnswers(leadership, relay, around.connections, onProblem);
    await leadership.start();
    const close = async (): Promise<void> => {
      isStopping = true;
      await leadership.stop();
      await around.closeConnections();
      await Promise.all([relay.close(), store.close(), bucket?.close()]);
    };
    return { answer: answers.answer, drain: () => leadership.drain(), close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** What an earlier time has left in the folder is nobody's any more. */
async function restore(session: LeadingSession, dataDir: string): Promise<void> {
  rmSync(dataDir, { recursive: true, force: true });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  for (const file of [jobsFile, keysFile]) {
    const path = join(dataDir, file);
    if (!(await session.restore(file, path))) rmSync(path);
  }
}
