/** Runs `nightrender serve` in a separate process, and sends requests to it. */
import { readdirSync, readFileSync } from 'node:fs';
import { Program } from './cli.ts';

export interface Job {
  id: string;
  status: string;
  output?: unknown;
  error?: string;
}

export class Served {
  /** Folder in which it was started. */
  readonly cwd: string;
  readonly url: string;
  readonly key: string;
  readonly program: Program;

  /** Starts a service in this folder, with its data in `service`. */
  static async start(
    cwd: string,
    args: string[] = [],
    env: Record<string, string> = {},
    port = 0,
  ): Promise<Served> {
    const program = new Program(['serve', ...args, '--json', '--port', String(port), '--data', 'service'], {
      cwd,
      env,
    });
    const { url, apiKey } = await program.event('serving');
    return new Served(
      cwd,
      program,
      String(url),
      env['NIGHTRENDER_API_KEY'] ?? (apiKey as string | undefined),
    );
  }

  private constructor(cwd: string, program: Program, url: string, key: string | undefined) {
    this.cwd = cwd;
    this.program = program;
    this.url = url;
    this.key = key ?? '';
  }

  async ask(path: string, { method = 'GET', key = this.key, body }: AskOptions = {}): Promise<Response> {
    return await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async submit(endpoint: string, input: object, policy: object = {}): Promise<string> {
    const answer = await this.ask(`/v2/${endpoint}/run`, { method: 'POST', body: { input, policy } });
    const { id } = (await answer.json()) as Partial<Job>;
    if (id === undefined) throw new Error(`${endpoint} answered ${answer.status}`);
    return id;
  }

  async status(endpoint: string, id: string): Promise<Job> {
    return (await (await this.ask(`/v2/${endpoint}/status/${id}`)).json()) as Job;
  }

  /** Waits until the job has ended and returns it. */
  async ended(endpoint: string, id: string): Promise<Job> {
    for (;;) {
      const job = (await (await this.ask(`/v2/${endpoint}/status-sync/${id}`)).json()) as Job;
      if (!job.status.startsWith('IN_')) return job;
    }
  }

  async done(endpoint: string, input: object, policy: object = {}): Promise<Job> {
    return await this.ended(endpoint, await this.submit(endpoint, input, policy));
  }

  /** Ends the service as a user does. */
  async stop() {
    this.program.child.kill('SIGTERM');
    return await this.program.finish();
  }

  async kill(): Promise<void> {
    this.program.child.kill('SIGKILL');
    await this.program.finish();
  }
}

interface AskOptions {
  method?: string;
  key?: string;
  body?: object;
}

/** Returns the ids of the child processes. */
export function childrenOf(pid: number | undefined): number[] {
  const tasks = `/proc/${pid}/task`;
  const texts = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/children`, 'utf8'));
  return texts.join(' ').split(' ').filter(Boolean).map(Number);
}
