/** Runs real containers for tests, with a separate storage and a tiny image. */
import { afterAll } from 'vitest';
import { findPython } from './find-python.ts';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ContainerTool } from '../../../src/service/workloads/container-tool.ts';

/** An image that runs the script in the variable SCRIPT, in a shell that has `env` and `sleep`. */
export const testImage = 'localhost/nightrender/test:1';

const run = promisify(execFile);
const makeRoot = resolve(import.meta.dirname, '../../scripts/make-root.sh');
const programs = ['sh', 'sleep', 'env'];

interface Usable {
  tool: ContainerTool;
  remove(): Promise<void>;
}

/** Prepares containers. Returns the reason as text if there are none. */
export async function prepareContainers(): Promise<Usable | string> {
  // Podman rejects paths longer than 50 characters.
  const folder = await mkdtemp(join(tmpdir(), 'c-'));
  const storage = ['--root', `${folder}/storage`, '--runroot', `${folder}/run`, '--storage-driver=vfs'];
  const restricted = ['--runtime', 'runc', '--cgroup-manager=cgroupfs'];
  const limits = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024'];
  const remove = async (): Promise<void> => {
    // Running containers keep their storage in use.
    const all = ['rm', '--all', '--force', '--time', '0'];
    await run('podman', [...storage, ...restricted, ...all]).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  };
  const troubles: string[] = [];
  for (const [more, containerArguments] of [
    [[], []],
    [restricted, limits],
  ] as const) {
    const tool: ContainerTool = {
      kind: 'podman',
      command: ['podman', ...storage, ...more],
      containerArguments,
    };
    try {
      await tryOut(tool, `${folder}/root`);
      return { tool, remove };
    } catch (error) {
      troubles.push(String((error as { stderr?: unknown }).stderr ?? error).trim());
    }
  }
  await remove();
  return troubles.join('; ');
}

async function tryOut({ command, containerArguments }: ContainerTool, root: string): Promise<void> {
  const [program = '', ...rest] = command;
  await run('bash', [makeRoot, root, ...programs]);
  const change = 'CMD ["/bin/sh", "-c", "eval \\"$SCRIPT\\""]';
  const pack = `tar -C "$0" -c . | "$@"`;
  await run('sh', ['-c', pack, root, program, ...rest, 'import', '--change', change, '-', testImage]);
  const trial = [
    'run',
    '--rm',
    '--network',
    'host',
    ...containerArguments,
    '--env',
    'SCRIPT=exit 0',
    testImage,
  ];
  await run(program, [...rest, ...trial]);
}

/**
 * Prepares containers for tests whose workers run in Python. `skipped` has the reason if there are none, and
 * is empty otherwise.
 */
export async function prepareWithPython() {
  const prepared = await prepareContainers();
  const python = await findPython();
  const skipped =
    typeof prepared === 'string'
      ? `(skipped: podman cannot run containers here: ${prepared})`
      : python === undefined
        ? '(skipped: there is no python3 here)'
        : '';
  afterAll(() => (typeof prepared === 'string' ? undefined : prepared.remove()));
  return { prepared, python, skipped };
}
