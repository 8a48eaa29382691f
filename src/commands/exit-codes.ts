/** The exit codes of commands, each in a line of their help. */
import { endings, type EndingKind } from '../runner/core/ending.ts';

/** All of them as they are; or those of a command that only looks or serves, in its own words. */
export function exitCodes(own?: Partial<Record<EndingKind, string>>): string {
  const kinds = Object.keys(endings) as EndingKind[];
  const lines = kinds.flatMap((kind) => {
    const { exitCode, means, isResumable } = endings[kind];
    if (own === undefined) return codeLine(exitCode, `${means}${isResumable ? ' (resumable)' : ''}`);
    return own[kind] === undefined ? [] : codeLine(exitCode, own[kind]);
  });
  const head =
    own === undefined ? 'Exit codes; after a resumable one the same command resumes:' : 'Exit codes:';
  return [head, ...lines].join('\n');
}

function codeLine(exitCode: number, means: string): string {
  return `${String(exitCode).padStart(5)}  ${means}`;
}

/** Means what it says with every command that works on a batch. */
export const common = {
  bug: endings.bug.means,
  'wrong-use': 'wrong use or configuration, no batch yet, or its file is damaged',
  'output-unwritable': endings['output-unwritable'].means,
};
