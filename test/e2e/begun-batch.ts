/** A batch with everything in it, as often as a test wants it: saved, failed, in flight and done, in flight and cancelled. */
import { cpSync } from 'node:fs';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { folderWith, newBatch, Program } from './cli.ts';
import { blackPicture } from './instant-service.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

export interface BegunBatches {
  /** A folder with four scenes, of which two are saved, where it is `begun`, and none is known otherwise. */
  copy(kind: 'new' | 'begun'): string;
  /** Submissions with this key. */
  submissions(key: string): number;
  /** All requests with this key that change something. */
  posts(key: string): number;
}

const scenes = 'id,scene\ns0,hills\ns1,trees\ns2,late\ns3,bad\ns4,stopped\n';

/** Its service ends with the test. */
export async function makeBegunBatch(): Promise<BegunBatches> {
  const output = [{ rendered_image: await blackPicture(), seed: 1 }];
  const posts: { key: string; path: string }[] = [];
  const jobs: string[] = [];
  let begunJobs = Infinity;
  const statusOf = (job: number): object => {
    const scene = jobs[job] ?? '';
    const isBegun = begunJobs === Infinity;
    if (isBegun && /late|stopped/.test(scene)) return { status: 'IN_PROGRESS' };
    if (job < begunJobs && scene === 'bad') return { status: 'FAILED', error: 'out of paint' };
    if (job < begunJobs && scene === 'stopped') return { status: 'CANCELLED' };
    return { status: 'COMPLETED', output };
  };
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '';
      const key = (request.headers.authorization ?? '').replace('Bearer ', '');
      if (request.method === 'POST') posts.push({ key, path });
      response.setHeader('content-type', 'application/json');
      if (path.endsWith('/run')) {
        const { input } = (await json(request)) as { input: { scene: string } };
        return response.end(JSON.stringify({ id: `job-${jobs.push(input.scene) - 1}`, status: 'IN_QUEUE' }));
      }
      const id = path.split('/').at(-1) ?? '';
      return response.end(JSON.stringify({ id, ...statusOf(Number(id.replace('job-', ''))) }));
    })();
  });
  const url = await listenOnLoopback(server);
  const more = 'input: {scene: "{{ scene }}"}\nretry: {attempts: 1}\n';
  const fresh = newBatch(url, 4, more);
  const begun = newBatch(url, 0, more);
  await begin(begun);
  begunJobs = jobs.length;
  return {
    copy: (kind) => {
      const cwd = folderWith({});
      cpSync(kind === 'new' ? fresh : begun, cwd, { recursive: true, preserveTimestamps: true });
      return cwd;
    },
    submissions: (key) => posts.filter((post) => post.key === key && post.path.endsWith('/run')).length,
    posts: (key) => posts.filter((post) => post.key === key).length,
  };

  async function begin(cwd: string): Promise<void> {
    cpSync(folderWith({ 'scenes.csv': scenes }), cwd, { recursive: true });
    const run = new Program(['run', 'pipeline.yaml', '--json'], {
      cwd,
      env: { NIGHTRENDER_API_KEY: 'begun' },
    });
    await run.says(/^(?=[^]*"attempt-failed")(?=(?:[^]*"scene-saved"){2})(?=(?:[^]*"scene-submitted"){5})/);
    run.child.kill('SIGKILL');
    await run.finish();
  }
}
