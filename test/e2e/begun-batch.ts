/**
 * Copies of a batch in every state for tests: scenes saved, failed, in flight and done, in flight and
 * cancelled.
 */
import { cpSync } from 'node:fs';
import { folderWith, type Night, nightOf } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

export interface BegunBatches {
  /**
   * Returns a new folder: with a batch of four scenes, two of them saved, if `begun`, or without a checkpoint
   * otherwise.
   */
  copy(kind: 'new' | 'begun'): string;
  /** Returns the number of submissions with this key. */
  submissions(key: string): number;
  /** Returns the number of requests with this key that change something. */
  posts(key: string): number;
}

const scenes = 'id,scene\ns0,hills\ns1,trees\ns2,late\ns3,bad\ns4,stopped\n';

/** Creates the batch. Its service ends with the test. */
export async function makeBegunBatch(): Promise<BegunBatches> {
  let isBegun = false;
  const service = await startStandIn({
    plan: ({ scene }) => {
      if (isBegun) return {};
      if (scene === 'late' || scene === 'stopped') return { executionMs: Infinity };
      return scene === 'bad' ? { end: () => ({ status: 'FAILED', error: 'out of paint' }) } : {};
    },
  });
  const posts = (key: string): string[] =>
    service.requests
      .filter((request) => request.method === 'POST' && request.key === `Bearer ${key}`)
      .map(({ path }) => path);
  const more = 'input: {scene: "{{ scene }}"}\nretry: {attempts: 1}\n';
  const fresh = nightOf(service.url, 4, more);
  const begun = nightOf(service.url, 0, more);
  await begin(begun);
  isBegun = true;
  for (const job of service.jobs.all) {
    if (job.scene === 'stopped') service.jobs.cancel(job);
    else job.completesAt = Math.min(job.completesAt, Date.now());
  }
  return {
    copy: (kind) => {
      const cwd = folderWith({});
      cpSync(kind === 'new' ? fresh.cwd : begun.cwd, cwd, { recursive: true, preserveTimestamps: true });
      return cwd;
    },
    submissions: (key) => posts(key).filter((path) => path.endsWith('/run')).length,
    posts: (key) => posts(key).length,
  };

  async function begin(night: Night): Promise<void> {
    cpSync(folderWith({ 'scenes.csv': scenes }), night.cwd, { recursive: true });
    const run = night
      .with({ env: { NIGHTRENDER_API_KEY: 'begun' } })
      .program('run', 'pipeline.yaml', '--json');
    await run.says(/^(?=[^]*"attempt-failed")(?=(?:[^]*"scene-saved"){2})(?=(?:[^]*"scene-submitted"){5})/);
    run.child.kill('SIGKILL');
    await run.finish();
  }
}
