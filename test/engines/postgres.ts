/** A PostgreSQL server for one test file. It starts with an empty folder and ends with the test process. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  openSync,
  renameSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const root = '/usr/lib/postgresql';

/** Folder with the programs of the newest installed version. */
const bin = existsSync(root)
  ? readdirSync(root)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(root, version, 'bin'))
      .find((folder) => existsSync(join(folder, 'initdb')))
  : undefined;

/** Reason why tests that need PostgreSQL are skipped. Undefined if PostgreSQL is installed. */
export const noPostgres = bin === undefined ? 'PostgreSQL is not installed; Debian: postgresql' : undefined;

export interface PostgresServer {
  /** URL with a password that must never appear anywhere. */
  url: string;
  /** Ends the server at once, as a power cut does. */
  kill(): Promise<void>;
  /** Starts the server again with its data. */
  start(): Promise<void>;
  /**
   * Keeps a copy of the present data, like a replica that lags behind from here on. The server is down for a moment.
   */
  keep(): Promise<void>;
  /** Fails over to the kept copy. Everything that was committed since is lost. */
  failOver(): Promise<void>;
  /** Stops all processes of the server: it accepts connections but answers nothing until `goOn`. */
  standStill(): void;
  goOn(): void;
  /** Returns the log of the server, at most its last 4,000 characters. */
  log(): string;
  stop(): Promise<void>;
}

export const postgresPassword = 'hunter2-not-shown';

/** Starts a server. `settings`: such as `fsync=off`. */
export async function startPostgres(...settings: string[]): Promise<PostgresServer> {
  if (bin === undefined) throw new Error(noPostgres);
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-postgres-'));
  const owner = ownerOf(dir);
  const data = join(dir, 'data');
  const port = await freePort();
  const log = join(dir, 'log');
  execFileSync(join(bin, 'initdb'), ['--no-sync', '-A', 'trust', '-U', 'postgres', '-D', data], {
    ...owner,
    cwd: dir,
    stdio: 'ignore',
  });
  let server: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = server;
    server = undefined;
    if (ending === undefined || ending.exitCode !== null) return;
    ending.kill(signal);
    await once(ending, 'exit');
  };
  const start = async (): Promise<void> => {
    const given = ['max_connections=200', ...settings].flatMap((setting) => ['-c', setting]);
    const args = ['-D', data, '-k', dir, '-h', '127.0.0.1', '-p', String(port), ...given];
    const stdio = ['ignore', 'ignore', openSync(log, 'a')] as const;
    server = spawn(join(bin, 'postgres'), args, { ...owner, cwd: dir, stdio: [...stdio] });
    for (let tries = 0; tries < 300; tries++) {
      if (isReady(port, owner)) return;
      await delay(50);
    }
    throw new Error('PostgreSQL did not start');
  };
  const signalAll = (signal: NodeJS.Signals): void => {
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(server?.pid)], { encoding: 'utf8' });
    for (const pid of [server?.pid, ...children.trim().split(/\s+/).map(Number)])
      if (pid) process.kill(pid, signal);
  };
  await start();
  process.once('exit', () => server?.kill('SIGKILL'));
  return {
    url: `postgres://postgres:${postgresPassword}@127.0.0.1:${port}/postgres`,
    start,
    kill: () => end('SIGQUIT'),
    standStill: () => signalAll('SIGSTOP'),
    goOn: () => signalAll('SIGCONT'),
    log: () => readFileSync(log, 'utf8').slice(-4_000),
    keep: async () => {
      await end('SIGINT');
      rmSync(`${data}-kept`, { recursive: true, force: true });
      execFileSync('cp', ['-a', data, `${data}-kept`]);
      await start();
    },
    failOver: async () => {
      await end('SIGQUIT');
      rmSync(data, { recursive: true });
      renameSync(`${data}-kept`, data);
      await start();
    },
    stop: async () => {
      await end('SIGQUIT');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function isReady(port: number, owner: Owner): boolean {
  try {
    execFileSync(join(bin ?? '', 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)], {
      ...owner,
      cwd: tmpdir(),
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

type Owner = { uid?: number; gid?: number };

/** Returns the user that must run the server, because PostgreSQL refuses to run as root. */
function ownerOf(dir: string): Owner {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const [uid, gid] = [id('-u'), id('-g')];
  chownSync(dir, uid, gid);
  return { uid, gid };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
