/** Ends what the service started even where the service is killed and cannot: a shell of its own waits for that. */
import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Its standard input ends with the service, whatever ends that. Polite workers then have two seconds to see that theirs
 * has ended too. A line instead says that there is nothing left to do. Its arguments: the group, the mark, and a command.
 */
const script = `
trap '' HUP INT TERM
read -r line && exit
sleep 2
kill -s KILL -- "-$1"
if [ -n "$2" ]; then
  for environment in /proc/[0-9]*/environ; do
    if grep -qsF -e "$2" "$environment"; then
      pid=\${environment#/proc/}
      kill -s KILL "\${pid%/environ}"
    fi
  done
fi
shift 2
[ $# -eq 0 ] || exec "$@"
`;

export interface Guarded {
  group: number;
  /** In the environment of the processes that are ended besides; see `process-family.ts`. */
  mark?: string | undefined;
  /** A command to run in the end. */
  cleanUp?: readonly string[] | undefined;
}

/** The function that is returned lifts the guard, to be called once all have gone. Without a shell there is none. */
export function guardProcesses({ group, mark = '', cleanUp = [] }: Guarded): () => void {
  const guard: ChildProcess = spawn(
    '/bin/sh',
    ['-c', script, 'nightrender-guard', String(group), mark, ...cleanUp],
    { detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
  );
  guard.on('error', () => undefined).unref();
  // Without files to open there is no pipe.
  guard.stdin?.on('error', () => undefined);
  return () => void guard.stdin?.end('\n');
}
