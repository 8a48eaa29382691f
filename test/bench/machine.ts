/** Describes the machine, so that people can compare results. */
import { statfsSync } from 'node:fs';
import { availableParallelism, cpus, release, tmpdir, totalmem, type } from 'node:os';

export interface Machine {
  cpu: string;
  cores: number;
  memory: string;
  node: string;
  os: string;
  /** File system of the folder for temporary files, to which both sides write. */
  fileSystem: string;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    node: process.version,
    os: `${type()} ${release()}`,
    fileSystem: fileSystemOf(tmpdir()),
  };
}

/** File systems of Linux by magic number. */
const fileSystems = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0x01021994, 'tmpfs (in memory: fsync costs nothing)'],
  [0x794c7630, 'overlayfs'],
]);

function fileSystemOf(dir: string): string {
  const magic = statfsSync(dir).type;
  return fileSystems.get(magic) ?? `0x${magic.toString(16)}`;
}
