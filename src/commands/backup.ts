/** `nightrender backup`: copies the data of a service into a new folder, also while it runs. */
import { textIn } from './reply.ts';
import { existsSync, readdirSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { temporaryName } from '../lib/files/temporary-files.ts';
import { plural } from '../lib/text/format.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { asDiskFailure } from '../runner/files/disk-failure.ts';
import { makeFolder } from '../runner/files/folders.ts';
import { isWithin } from '../runner/files/sent-files.ts';
import { isDiskFull } from '../lib/files/disk-reserve.ts';
import { jobsFile, keysFile } from '../service/instance/open-service.ts';
import { type Backup, backupBytes, BackupFailed, backUpService } from '../service/instance/service-backup.ts';
import { writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { formatBytes } from '../terminal/words.ts';
import { commonExits, type LoadedCommand, oneText, textOption } from './command.ts';
import { withSignals } from './signals.ts';
import { defaultDataDir, refuseService } from './service-data.ts';
import { shownPath } from '../batch/refusal.ts';
import { StoppedEarly } from '../runner/pipeline/stop.ts';

export const backupCommand: LoadedCommand = {
  purpose: `Copies jobs, results, keys and the console's endpoints of the service into a new folder, also while the service runs, and checks the copy. service.yaml and certificates are not in it, nor is a PostgreSQL store. nightrender help restore says how to put a backup back, and what a restore costs.`,
  positionals: { dir: { type: 'string', describe: 'the folder: a new or an empty one' } },
  options: {
    data: { ...textOption, describe: 'folder of the service (default: ~/.local/share/nightrender)' },
    json: { type: 'boolean', describe: 'print what is in the backup as JSON' },
  },
  examples: [
    ['$0 backup /mnt/backups/$(date +%F)', 'for cron: a folder a day'],
    ['$0 backup before-upgrade --data /srv/render', 'of a service with its data elsewhere'],
  ],
  exits: {
    ...commonExits,
    complete: 'the backup is written and checked',
    'wrong-use': 'wrong use, not a folder of a service, or its databases are damaged',
    'output-unwritable': `${commonExits['output-unwritable']}, or too little space`,
    interrupted: 'stopped by SIGINT; no backup is left',
    terminated: 'stopped by SIGTERM; no backup is left',
  },
  work: (argv) => backUp(argv),
};

/** Resolves to the exit code. */
async function backUp(argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dataDir: string | undefined;
  try {
    dataDir = resolve(oneText(argv, 'data') ?? defaultDataDir());
    const dir = resolve(textIn(argv, 'dir'));
    assertBackable(dataDir);
    assertFree(dir, dataDir);
    assertRoom(dir, dataDir);
    printBackup(await write(dir, dataDir), dir, json);
    return 0;
  } catch (thrown) {
    if (thrown instanceof BackupFailed)
      return refuseService(
        new FatalFailure({ kind: 'output-unwritable', text: thrown.message }),
        undefined,
        json,
      );
    return refuseService(thrown, dataDir, json);
  }
}

function write(dir: string, dataDir: string): Promise<Backup> {
  return withSignals(async (stop) => {
    makeFolder(dirname(dir), 0o700);
    const temporary = join(dirname(dir), temporaryName());
    try {
      return await backUpService(dataDir, { temporary, to: dir, signal: stop.leaving });
    } catch (error) {
      if (stop.ending !== undefined) throw new StoppedEarly(stop.ending, 'No backup is left.');
      throw isOfData(error, dataDir) ? error : (asDiskFailure(error, shownPath(dir)) ?? error);
    }
  });
}

/** True if the error comes from reading the data folder, not from writing the backup. */
function isOfData(error: unknown, dataDir: string): boolean {
  if (isDiskFull(error)) return false;
  const { path } = error as NodeJS.ErrnoException;
  return path === undefined || isWithin(path, dataDir);
}

const dump =
  'pg_dump --format=custom --schema=nightrender_service --file=service.dump postgres://user@host/database';

/** Throws `ConfigError` if `dataDir` holds no service, or only the working copy of a PostgreSQL store. */
function assertBackable(dataDir: string): void {
  const where = shownPath(dataDir);
  if (existsSync(join(dataDir, 'shared')))
    throw wrong(
      where,
      `the service keeps its data in PostgreSQL (\`store\`), and this folder has a working copy only: back the database up with \`${dump}\` (nightrender help restore). If service.yaml no longer has \`store\`, delete ${shownPath(join(dataDir, 'shared'))}`,
    );
  if (![jobsFile, keysFile].some((name) => statSync(join(dataDir, name), { throwIfNoEntry: false })))
    throw wrong(
      where,
      `no service has its data here: name its folder with --data. With \`store\` its data is in PostgreSQL: back the database up with \`${dump}\``,
    );
}

/** Throws `ConfigError` unless `dir` is new or empty, on its parent's disk, and outside of the data folder. */
function assertFree(dir: string, dataDir: string): void {
  const where = shownPath(dir);
  const stats = statSync(dir, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isDirectory())
    throw wrong(where, 'a file has this name; choose a new folder');
  if (stats !== undefined && readdirSync(dir).length > 0)
    throw wrong(where, 'the folder is not empty; choose a new one');
  if (stats !== undefined && stats.dev !== statSync(dirname(dir)).dev)
    throw wrong(
      where,
      `a disk is mounted there; choose a new folder in it, such as ${shownPath(join(dir, 'service'))}`,
    );
  if (isWithin(realPathOf(dir), realpathSync(dataDir)))
    throw wrong(
      where,
      `the folder is in the service's own data folder; choose one outside of ${shownPath(dataDir)}`,
    );
}

/** Throws `FatalFailure` if the disk has too little space. */
function assertRoom(dir: string, dataDir: string): void {
  const { bavail, bsize } = statfsSync(nearest(dir));
  const [needed, free] = [backupBytes(dataDir), bavail * bsize];
  if (needed <= free) return;
  const text = `the backup takes ${formatBytes(needed)}, and the disk of ${shownPath(dir)} has ${formatBytes(free)} free: free ${formatBytes(needed - free)}, or choose a folder on another disk`;
  throw new FatalFailure({ kind: 'output-unwritable', text });
}

/** Real path of a folder that may not exist yet. */
function realPathOf(dir: string): string {
  const there = nearest(dir);
  return join(realpathSync(there), relative(there, dir));
}

/** Returns `dir`, or its nearest ancestor that exists. */
function nearest(dir: string): string {
  return existsSync(dir) || dirname(dir) === dir ? dir : nearest(dirname(dir));
}

function wrong(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}

function printBackup(backup: Backup, dir: string, json: boolean): void {
  if (json) return writeJsonLine('backed-up', { dir, ...backup });
  const { jobs, openJobs, keys, files, bytes, lost } = backup;
  const open = openJobs === 0 ? '' : ` (${openJobs.toLocaleString('en')} waiting or running)`;
  const lines = [
    `Backed up to ${escapeControls(shownPath(dir))}, and checked: ${plural(jobs, 'job')}${open}, ${plural(keys, 'key')}, ${plural(files, 'file')} beside the databases, ${formatBytes(bytes)} in all.`,
    ...(openJobs === 0
      ? []
      : [
          'In the backup, endpoints with waiting or running jobs are paused, so that a restore does not run these jobs twice.',
        ]),
    ...(lost === 0
      ? []
      : [`${plural(lost, 'file')} is missing in the service's folder, so it is missing here as well.`]),
    'To put it back: nightrender help restore.',
  ];
  writeOut(lines.join('\n'));
}
