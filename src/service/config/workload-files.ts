/** Whether what a workload is made of is on this machine: its program, its module, its folder. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { FieldExpectation } from './endpoint-draft.ts';
import type { WorkloadSettings } from '../endpoint-settings.ts';

/** Paths have to be absolute. A program is looked for where its own `environment` says, else where this one's is. */
export function workloadFileProblems(
  workload: WorkloadSettings,
  env: NodeJS.ProcessEnv,
  own: Record<string, string> = {},
): FieldExpectation[] {
  if (workload.kind === 'module') return at('workload.path', moduleExpected(workload.path));
  if (workload.kind !== 'command') return [];
  const [program = ''] = workload.command;
  const folders = (own['PATH'] ?? env['PATH'] ?? '').split(delimiter);
  return [
    ...at('workload.command.0', programExpected(program, folders)),
    ...at('workload.cwd', workload.cwd === null ? undefined : folderExpected(workload.cwd)),
  ];
}

function at(field: string, expected: string | undefined): FieldExpectation[] {
  return expected === undefined ? [] : [{ field, expected }];
}

function moduleExpected(path: string): string | undefined {
  if (!isAbsolute(path)) return absoluteExpected;
  return kindOf(path) === 'file' ? undefined : `a file that is there, and ${path} is none`;
}

function folderExpected(path: string): string | undefined {
  if (!isAbsolute(path)) return absoluteExpected;
  return kindOf(path) === 'folder' ? undefined : `a folder that is there, and ${path} is none`;
}

function programExpected(program: string, folders: string[]): string | undefined {
  if (!isPath(program)) {
    const isFound = folders.some((folder) => folder !== '' && isProgram(join(folder, program)));
    return isFound ? undefined : `a program that is there: none of the folders of PATH has a ${program}`;
  }
  if (!isAbsolute(program)) return absoluteExpected;
  if (isProgram(program)) return undefined;
  if (kindOf(program) !== 'file') return `a program that is there, and ${program} is none`;
  return `a program, and ${program} may not be executed; chmod +x lets it`;
}

/** Rather than a name that is looked for in the folders of PATH. */
export function isPath(program: string): boolean {
  return program.includes('/');
}

const absoluteExpected = 'a path that begins with /';

function kindOf(path: string): 'file' | 'folder' | undefined {
  try {
    const found = statSync(path);
    if (found.isDirectory()) return 'folder';
    return found.isFile() ? 'file' : undefined;
  } catch {
    return undefined;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return kindOf(path) === 'file';
  } catch {
    return false;
  }
}
